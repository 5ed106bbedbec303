{#-
    What an SQL statement in a message does to the rows of its table, as one word: the column `statement_kind`. No rule knows
    SQL's grammar. A statement that no rule plainly recognizes becomes an error row, never a mere DDL.

    1. The query cuts out quoted texts, quoted names and comments, once. Databases disagree about a backslash, `#`, `$`, `[`,
       `--x`, a letter before a quote (Oracle's q'[it's]'), MySQL's /*! */, a comment in a comment, and a quote that nothing
       closes. Such a place is never cut, so its character is left. The rules then read the statement uncut.
    2. CREATE or ALTER of a procedure, function, trigger, event or package, up to its END, runs nothing: `other`.
    3. `TRUNCATE [TABLE] name`, with at most one of four options that change nothing else: `truncate` if it is the message's
       table, `truncate_of_other_table` if not.
    4. Any other statement with the word TRUNCATE: `truncate_unclear`. This includes a truncate of a partition and a column of
       that name.
    5. A statement that begins with ALTER, or has it first after a semicolon, and then has EXCHANGE PARTITION, IMPORT or DISCARD of a
       tablespace, SWITCH TO or PARTITION, CONVERT of a partition or a table: `replaces_rows`.
    6. A statement whose first word changes rows, or that has such a word first after a semicolon: `changes_rows`. A comment at
       such a place that was not cut counts as one.
    7. A text that does not begin like a statement, such as a number, an object or comments alone: `none`. No text is `none`,
       too.
    8. All the rest: `other`.
-#}

{#-
    The CTEs `statements` and `kinds_of_statements`: `messages` with the columns `statement` and `statement_kind`. `statement`
    is the part of a format's header: SQL of the `text`, and of the `table` and the `qualifier` (database or schema) that a
    truncate must name. Without these two, or if they are NULL, the truncate is of another table.
-#}
{%- macro _statement_ctes(messages, statement) -%}
    {%- set comment, quoted = spark_cdc._comment_in_statement(), spark_cdc._quoted_in_statement() -%}
    {%- set is_read_in_two_ways = "without_quotes rlike r'[\\x27\"`\\\\#$\\[]|--|/[*]|[*]/'" -%}
statements as (

    select
        *,
        {{ statement.text | trim | indent(8) }} as statement,
        case when statement <> '' then regexp_replace(statement, r'(?s){{ comment }}|({{ quoted }})', ' $1 ') end as without_comments,
        case when statement <> '' then regexp_replace(statement, r'(?s){{ comment }}|{{ quoted }}', ' ') end as without_quotes,
        case when {{ is_read_in_two_ways }} then statement else without_quotes end as words,
        regexp_extract_all(
            regexp_extract(
                case when {{ is_read_in_two_ways }} then statement else without_comments end,
                r'{{ spark_cdc._plain_truncate() }}',
                1
            ),
            r'{{ spark_cdc._name_in_statement() }}',
            0
        ) as truncated
    from {{ messages }}

),

kinds_of_statements as (

    select
        * except (without_comments, without_quotes, words, truncated),
        case
            when words is null then 'none'
            when words rlike r'{{ spark_cdc._makes_procedure() }}' then 'other'
            when size(truncated) > 0 then case
                when {{ spark_cdc._is_name('get(reverse(truncated), 0)', statement.get('table')) | indent(16) }}
                    and (
                        size(truncated) = 1
                        or {{ spark_cdc._is_name('get(reverse(truncated), 1)', statement.get('qualifier')) | indent(24) }}
                    )
                    then 'truncate'
                else 'truncate_of_other_table'
            end
            when words rlike r'(?i)\bTRUNCATE\b' then 'truncate_unclear'
            when words rlike r'{{ spark_cdc._replaces_rows() }}' then 'replaces_rows'
            when words rlike r'{{ spark_cdc._changes_rows() }}' then 'changes_rows'
            when words rlike r'(?i)^[\s;]*+(?!(?:true|false)\s*\z)(?:[A-Z(]|/[*])' then 'other'
            else 'none'
        end as statement_kind
    from statements

)
{%- endmacro -%}

{#- A quoted text or name that all databases read alike. -#}
{%- macro _quoted_in_statement() -%}
    {{- return('\\B\\x27[^\\x27\\\\]*+\\x27|"[^"\\\\]*+"|`[^`\\\\]*+`') -}}
{%- endmacro -%}

{#-
    A comment that all databases read alike. `#` begins a comment in some of them only, but at the very beginning it is nothing
    else.
-#}
{%- macro _comment_in_statement() -%}
    {{- return([
        '/[*](?!M?!)(?:(?!/[*]|[*]/).)*+[*]/',
        '--(?=\\s|\\z)[^\\r\\n]*+(?=\\r?\\n|\\z)',
        '\\A(?:\\s*+#[^\\r\\n]*+(?:\\r?\\n|\\z))++',
    ] | join('|')) -}}
{%- endmacro -%}

{%- macro _name_in_statement() -%}
    {{- return('(?:[\\w$#@[^\\x00-\\x7F]]+|[`"\\[][^`"\\[\\]]+[`"\\]])') -}}
{%- endmacro -%}

{#- The group is the table's name with its qualifiers. -#}
{%- macro _plain_truncate() -%}
    {%- set name = spark_cdc._name_in_statement() -%}
    {%- set options = '(?:\\s+(?:RESTART|CONTINUE)\\s+IDENTITY|\\s+(?:DROP|REUSE)\\s+STORAGE)?' -%}
    {{- return(
        '(?i)^\\s*TRUNCATE\\b\\s*(?:TABLE\\b\\s*)?((?:' ~ name ~ '\\s*[.]\\s*){0,2}' ~ name ~ ')' ~ options ~ '\\s*;?\\s*\\z'
    ) -}}
{%- endmacro -%}

{#- The semicolons between CREATE and END belong to the body. -#}
{%- macro _makes_procedure() -%}
    {%- set between = '(?:OR\\s+REPLACE\\s+)?(?:EDITIONABLE\\s+)?(?:DEFINER\\s*=\\s*\\S+\\s+)?' -%}
    {%- set what = '(?:PROCEDURE|FUNCTION|TRIGGER|EVENT|PACKAGE)' -%}
    {{- return('(?is)^\\s*(?:CREATE|ALTER)\\s+' ~ between ~ what ~ '\\b.*\\bEND(?:\\s+\\w+)?[\\s;/]*\\z') -}}
{%- endmacro -%}

{#-
    MySQL, Oracle, SQL Server and MariaDB move all rows of a partition or a file into a table or out of it, and log only the
    statement. What stands around the words distinguishes them from names of tables and columns.
-#}
{%- macro _replaces_rows() -%}
    {%- set words = [
        'EXCHANGE\\s+(?:SUB)?PARTITION\\b(?!\\s+BY\\b)',
        '(?:IMPORT|DISCARD)\\s+(?:PARTITION\\b[^;(=]*)?TABLESPACE\\b(?!\\s*[\\w=])',
        '(?<!COLUMN\\s)(?<!RENAME\\s)SWITCH\\s+(?:TO|PARTITION)\\b',
        'CONVERT\\s+(?:PARTITION|TABLE)\\b',
    ] -%}
    {#- Only what comes first may be ALTER: a text of megabytes may have the word thousands of times. -#}
    {{- return('(?i)(?:^|;)[^A-Z]*(?:M![^A-Z]*)?ALTER\\b[^;]*\\b(?:' ~ words | join('|') ~ ')') -}}
{%- endmacro -%}

{#- MariaDB has a letter in its /*M! */. Nobody knows what an uncut comment holds. -#}
{%- macro _changes_rows() -%}
    {%- set words = ['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'LOAD', 'MERGE', 'WITH', 'COPY'] -%}
    {{- return('(?i)(?:^|;)[^A-Z]*(?:M![^A-Z]*)?(?:#|--|/[*](?!M?!)|(?:' ~ words | join('|') ~ ')\\b)') -}}
{%- endmacro -%}

{#- Whether a name in a statement is `name`. Without quotes, upper and lower case do not matter. -#}
{%- macro _is_name(written, name) -%}
    {%- if not name -%}
        {{- return('false') -}}
    {%- endif -%}
case
    when {{ written }} rlike r'^[`"\[]' then substr({{ written }}, 2, length({{ written }}) - 2) = {{ name }}
    else lower({{ written }}) = lower({{ name }})
end
{%- endmacro -%}

{#-
    The error of a statement that changes single rows, moves all rows of a partition, or may empty a table and is not plainly a
    truncate of the message's table; else NULL. As a mere DDL it would leave deleted rows in the target. `path`: the field of the statement.
-#}
{%- macro _statement_fault(path, changes_rows=true) -%}
case statement_kind
    when 'truncate_of_other_table' then {# -#}
        {{ spark_cdc._error('unexpected_structure', path ~ ': it empties a table that the message does not say is emptied') }}
    when 'truncate_unclear' then {# -#}
        {{ spark_cdc._error('unknown_op', path ~ ': it names TRUNCATE and does not plainly empty one table') }}
    when 'replaces_rows' then {# -#}
        {{ spark_cdc._error('unknown_op', path ~ ': it takes rows away or puts others in, which the message does not have') }}
    {%- if changes_rows %}
    when 'changes_rows' then {# -#}
        {{ spark_cdc._error('unknown_op', path ~ ': it changes rows, which the message does not have') }}
    {%- endif %}
end
{%- endmacro -%}
