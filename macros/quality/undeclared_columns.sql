{#-
    Query over one messages model: each column in its messages that no changes model declares, of source tables that changes
    models read. One row: database_name, schema_name, table_name, column_name, and

    vendor_type     of the newest message that names one
    line            to paste into `columns`; null if a column of this name cannot be declared, or is declared in other letters
    note            why there is no line, or why its type is string although no message says so
    rows            that have it
    first_at, last_at  when they were committed
    changes_models  the names of those that read the table

    relation  the messages model, to read from
    messages  the node of the messages model
    readers   the nodes of all changes models over it; they are not queried: their meta has the declared columns
-#}
{%- macro _undeclared_columns(relation, messages, readers) -%}
    {%- set is_read, reader_names = [], [] -%}
    {%- for node in readers -%}
        {%- do is_read.append(spark_cdc._condition_of(node)) -%}
        {%- do reader_names.append('if(' ~ is_read[-1] ~ ', ' ~ spark_cdc._literal(node.name) ~ ', null)') -%}
    {%- endfor -%}
with carried as (

    select
        database_name,
        schema_name,
        table_name,
        format,
        column_types,
        coalesce(committed_at, timestamp) as at,
        struct(sequence, offset) as place,
        -- before the explode: mostly nothing is left
        array_except(
            {{ spark_cdc._names_in_row() | indent(12) }},
            {{ spark_cdc._declared_names(readers) | indent(12) }}
        ) as names
    from {{ relation }}
    lateral view explode(rows) exploded as row
    where kind = 'rows' and ({{ is_read | join(' or ') or 'false' }})

),

undeclared as (

    select
        database_name,
        schema_name,
        table_name,
        column_name,
        count(*) as rows,
        min(at) as first_at,
        max(at) as last_at,
        max_by(
            named_struct('vendor', {{ spark_cdc._type_codes_of(messages) }}, 'type', column_types[column_name]), place
        ) filter (where column_types[column_name] is not null) as newest
    from carried
    lateral view explode(names) exploded as column_name
    group by database_name, schema_name, table_name, column_name

),

looked_up as (

    select
        *,
        newest.type as vendor_type,
        {{ "cdc_type(newest.vendor, newest.type).spark_type" if spark_cdc._has_function('cdc_type')
            else 'cast(null as string)' }} as found_type,
        get(filter(
            {{ spark_cdc._declared_names(readers) | indent(12) }}, name -> lower(name) = lower(column_name)
        ), 0) as declared_name
    from undeclared

),

typed as (

    select
        *,
        {{ spark_cdc._declarable_type('found_type') | indent(8) }} as declarable_type,
        trim(column_name) <> '' and not column_name rlike r'(?i)^_cdc_|[\p{C}\p{Zl}\p{Zp}]' as is_declarable
    from looked_up

)

select
    database_name,
    schema_name,
    table_name,
    column_name,
    vendor_type,
    case
        when is_declarable and declared_name is null then concat(
            '\'', replace(replace(column_name, r'\', r'\\'), '\'', '\\\''), '\': \'', coalesce(declarable_type, 'string'), '\''
        )
    end as line,
    case
        when not is_declarable then 'a column of this name cannot be declared'
        when declared_name is not null then concat('declared in other letters, as ', declared_name, ': correct that name')
        when vendor_type is null then 'string, because the messages name no type'
        when declarable_type is not null then null
        {%- if not spark_cdc._has_function('cdc_type') %}
        else 'string, because this session does not have the function cdc_type'
        {%- else %}
        when found_type is null then 'string, because the type codes of this package do not have this type'
        else concat('string, because a model cannot declare ', found_type)
        {%- endif %}
    end as note,
    rows,
    first_at,
    last_at,
    concat_ws(', ', {{ reader_names | join(', ') or 'null' }}) as changes_models
from typed
{%- endmacro -%}

{#-
    The names of the columns in a row of a message, each once. In an update that changes parts of nested values (MongoDB), a
    name with a dot counts as the path to a part: the row has `address.city` besides the columns. The text in front of the dot
    is the column's name, and is among the names of the patches.
-#}
{%- macro _names_in_row() -%}
    {%- set no_names = 'cast(array() as array<string>)' -%}
    {%- set names = 'array_distinct(concat(\n    coalesce(map_keys(row.image), ' ~ no_names
        ~ '),\n    coalesce(map_keys(row.before), ' ~ no_names ~ '),\n    coalesce(map_keys(row.patches), ' ~ no_names ~ ')\n))' -%}
    {{- return('filter(' ~ names ~ ", name -> coalesce(size(row.patches), 0) < 1 or not contains(name, '.'))") -}}
{%- endmacro -%}

{#- The names of the columns that changes models declare for the table of a row. -#}
{%- macro _declared_names(readers) -%}
    {%- set declared = [] -%}
    {%- for node in readers -%}
        {%- set names = [] -%}
        {%- for noted in node.config.meta['spark_cdc.arguments'] if noted[:8] == 'columns.' -%}
            {%- do names.append(noted[8:]) -%}
        {%- endfor -%}
        {%- do declared.append(
            'if(' ~ spark_cdc._condition_of(node) ~ ', array(' ~ spark_cdc._literals(names) ~ '), cast(array() as array<string>))'
        ) -%}
    {%- endfor -%}
    {{- return('concat(\n    ' ~ (declared | join(',\n    ') or 'cast(array() as array<string>)') ~ '\n)') -}}
{%- endmacro -%}

{#- The vendor whose type codes a message uses for its types. -#}
{%- macro _type_codes_of(messages) -%}
    {%- set vendors = [] -%}
    {%- for format, dialect in messages.config.meta['spark_cdc.dialect_of'].items() -%}
        {%- set fmt = spark_cdc._format(format, dialect) -%}
        {%- do vendors.append('when ' ~ spark_cdc._literal(format) ~ ' then ' ~ spark_cdc._literal(fmt.header.type_codes or format)) -%}
    {%- endfor -%}
    {{- return('case format ' ~ vendors | join(' ') ~ ' end') -}}
{%- endmacro -%}
