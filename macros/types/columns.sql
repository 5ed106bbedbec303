{#- The columns that a model declares: {'amount': 'decimal(20,4)', 'placed_at': 'timestamp_ntz from microseconds'}. -#}

{%- macro _columns(columns, macro) -%}
    {%- if columns is not mapping or columns | length == 0 -%}
        {%- do spark_cdc._raise(
            macro, 'columns', 'a mapping of column names to types, such as {\'id\': \'bigint\'}',
            spark_cdc._show(columns), 'List the columns of the source table that this model needs.'
        ) -%}
    {%- endif -%}
    {%- set parsed = [] -%}
    {%- for name, declaration in columns.items() -%}
        {%- do spark_cdc._require_text(macro, 'columns', name, 'Put the names of columns in quotes.') -%}
        {%- if (name | lower)[:5] == '_cdc_' -%}
            {%- do spark_cdc._raise(
                macro, 'columns', 'names that do not start with _cdc_, which is reserved', spark_cdc._show(name),
                'A source column of that name cannot be read; leave it out.'
            ) -%}
        {%- endif -%}
        {%- if spark_cdc._has_line_ends(name) -%}
            {%- do spark_cdc._raise(
                macro, 'columns', 'names of one line', spark_cdc._show(spark_cdc._literal(name)),
                'A source column of that name cannot be read; leave it out.'
            ) -%}
        {%- endif -%}
        {%- do parsed.append(spark_cdc._column(name, declaration, macro)) -%}
    {%- endfor -%}
    {{- return(parsed) -}}
{%- endmacro -%}

{#- Only for a model: `decode` makes no table. -#}
{%- macro _require_names_of_a_table(macro, columns) -%}
    {%- for name in columns if '`' in name and config.get('materialized') == 'incremental' -%}
        {%- do spark_cdc._raise(
            macro, 'columns', 'names without a backtick, which dbt\'s `incremental` does not quote', spark_cdc._show(name),
            'Leave it out, or write materialized=\'cdc_append\'.'
        ) -%}
    {%- endfor -%}
    {%- set names = columns | map('lower') | list -%}
    {%- for name in columns if names.count(name | lower) > 1 -%}
        {%- do spark_cdc._raise(
            macro, 'columns', 'names that differ in more than the case of their letters, which Spark does not tell apart',
            spark_cdc._show(name), 'Read them with two models; each joins the other by the key.'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro _column(name, declaration, macro) -%}
    {%- set words = (declaration | string | lower | trim).split(' from ') -%}
    {%- set type = words[0] | replace(' ', '') -%}
    {%- set encoding = words[1] | trim if words | length > 1 else none -%}
    {%- set family = type.split('(')[0] -%}
    {%- set families = spark_cdc._type_families() -%}
    {%- set decimal_parts = modules.re.match('^decimal\\(([0-9]+),([0-9]+)\\)$', type) -%}
    {%- if family not in families or ('(' in type or family == 'decimal') != (decimal_parts is not none) or words | length > 2 -%}
        {%- do spark_cdc._raise(
            macro, 'columns', 'a type of ' ~ families | join(', ') ~ ' (decimal as decimal(p,s), the others without parentheses)',
            '`' ~ name ~ ': ' ~ declaration ~ '`',
            'A value without a type here, such as a time of day or an interval, is kept exactly as string.'
        ) -%}
    {%- endif -%}
    {%- if family == 'decimal' and not (0 < decimal_parts.group(1) | int <= 38
        and decimal_parts.group(2) | int <= decimal_parts.group(1) | int) -%}
        {%- do spark_cdc._raise(
            macro, 'columns', 'a decimal of at most 38 digits, with a scale that is not above them',
            '`' ~ name ~ ': ' ~ declaration ~ '`', 'Declare a wider number as string: its text is exact.'
        ) -%}
    {%- endif -%}
    {%- set allowed = spark_cdc._encodings(family) -%}
    {%- if encoding is not none and encoding not in allowed -%}
        {%- do spark_cdc._raise(
            macro, 'columns', 'one of `' ~ family ~ ' from ' ~ allowed | join('`, `' ~ family ~ ' from ') ~ '`',
            '`' ~ name ~ ': ' ~ declaration ~ '`', 'Without `from` the format\'s own encoding is read.'
        ) -%}
    {%- endif -%}
    {{- return({
        'name': name,
        'type': type,
        'family': family,
        'scale': decimal_parts.group(2) | int if decimal_parts else none,
        'encoding': encoding,
        'quoted': spark_cdc._quote(name),
        'literal': spark_cdc._literal(name),
        'source_type': 'column_types[' ~ spark_cdc._literal(name) ~ ']',
    }) -}}
{%- endmacro -%}

{%- macro _type_families() -%}
    {{- return([
        'string', 'binary', 'boolean', 'tinyint', 'smallint', 'int', 'bigint', 'decimal', 'float', 'double',
        'date', 'timestamp', 'timestamp_ntz', 'variant',
    ]) -}}
{%- endmacro -%}

{#- SQL: the type that a model declares for the type of a type code, in `found`; NULL if no model can declare it. -#}
{%- macro _declarable_type(found) -%}
case
    when {{ found }} in ({{ spark_cdc._literals(spark_cdc._type_families() | reject('equalto', 'decimal')) }})
        or {{ found }} rlike r'^decimal\([0-9]+,[0-9]+\)$' then {{ found }}
    -- a decimal of a type code may leave its scale out, which a model may not
    when {{ found }} rlike r'^decimal\([0-9]+\)$' then replace({{ found }}, ')', ',0)')
end
{%- endmacro -%}

{#- How a source may have written a value, by family of the declared type. The first one is the meaning of `text`. -#}
{%- macro _encodings(family) -%}
    {%- set epochs = ['seconds', 'milliseconds', 'microseconds', 'nanoseconds'] -%}
    {%- set encodings = {
        'string': ['text', 'enum', 'set', 'time_milliseconds', 'time_microseconds', 'time_nanoseconds'],
        'binary': ['base64', 'base64_url', 'hex', 'latin1', 'java_bytes'],
        'bigint': ['text', 'bits', 'big_endian_bits'],
        'decimal': ['text', 'base64', 'bits', 'big_endian_bits'],
        'date': ['text', 'days'] + epochs,
        'timestamp': ['text'] + epochs,
        'timestamp_ntz': ['text'] + epochs,
    } -%}
    {{- return(encodings.get(family, ['text'])) -}}
{%- endmacro -%}

{#- The label of an ENUM or the labels of a SET, from the number that Canal sends and the type text `enum('a','b')`. -#}
{%- macro _mysql_label(text, type_text, encoding) -%}
    {#- MySQL writes some characters of a label with a backslash, and products differ: such a label is not certain. -#}
    {%- set label = "'(?:[^'\\\\]|'')*+'" -%}
    {%- set labels = "transform(case when " ~ type_text ~ " rlike r\"^(?i:" ~ encoding ~ ")\\(" ~ label ~ "(?:, ?" ~ label
        ~ ")*+\\)\" then regexp_extract_all(" ~ type_text ~ ", r\"'((?:[^']|'')*)'\", 1) end, label -> replace(label, \"''\", \"'\"))" -%}
    {%- if encoding == 'enum' -%}
        {%- set number = spark_cdc._integer_value(text, 'int') -%}
        {{- return("case when " ~ number ~ " = 0 then '' else get(" ~ labels ~ ", " ~ number ~ " - 1) end") -}}
    {%- endif -%}
    {#- A SET of 64 labels uses all bits of an unsigned 64-bit number, so the bits are read from its binary digits. -#}
    {%- set bits = "reverse(conv(" ~ text ~ ", 10, 2))" -%}
    {{- return(
        "case when try_cast(regexp_extract(" ~ text ~ ", r'^[0-9]{1,20}\\z', 0) as decimal(20,0)) <= 18446744073709551615 and ("
        ~ text ~ " = '0' or length(" ~ bits ~ ") <= size(" ~ labels ~ ")) then array_join(filter("
        ~ labels ~ ", (label, position) -> substr(" ~ bits ~ ", position + 1, 1) = '1'), ',') end"
    ) -}}
{%- endmacro -%}

{#- The text of a declared column in a row (a map of texts). NULL if the row does not have the column. -#}
{%- macro _text_in(row, column) -%}
    {{- return(row ~ '[' ~ column.literal ~ ']') -}}
{%- endmacro -%}
