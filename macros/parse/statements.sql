{#- What an SQL statement in a message does: whether it empties a table, or changes rows that the message does not have. -#}

{#-
    True of a statement that empties one table: no other one, no partition of it, no cluster of tables. With `table` it must be
    the one of that name, in any case of letters where the statement does not quote it; where the statement names its database
    or schema too, that must be `qualifier`.
-#}
{%- macro _truncates_a_table(statement, table=none, qualifier=none) -%}
    {%- set gap = spark_cdc._sql_gap() -%}
    {%- set name -%} (?:((?:[0-9A-Z_$#@]|[^\x00-\x7F])++)|`([^`\x00]++)`|"([^"\x00]++)"|\[([^]\x00]++)]) {%- endset -%}
    {%- set any_name -%} (?:(?:[0-9A-Z_$#@]|[^\x00-\x7F])++|`[^`\x00]++`|"[^"\x00]++"|\[[^]\x00]++])?+ {%- endset -%}
    {%- set dot = gap ~ '[.]' ~ gap -%}
    {#- With these the table is empty all the same; with CASCADE others are, too. -#}
    {%- set options = [
        '(?:RESTART|CONTINUE) IDENTITY', 'RESTRICT', '(?:DROP|DROP ALL|REUSE) STORAGE',
        '(?:PRESERVE|PURGE) MATERIALIZED VIEW LOG', 'PURGE', 'IMMEDIATE', 'NOWAIT', 'WAIT [0-9]++',
        '(?:IGNORE|RESTRICT WHEN) DELETE TRIGGERS',
    ] | join('|') | replace(' ', '\\s++') -%}
    {#- The empty group: no qualifier. -#}
    {%- set pattern = '(?iu)^' ~ spark_cdc._sql_start() ~ 'TRUNCATE\\b' ~ gap ~ '(?:TABLE\\b' ~ gap
        ~ ')?(?:ONLY\\b' ~ gap ~ ')?(?:(?:' ~ any_name ~ dot ~ '){0,2}' ~ name ~ dot ~ '|())' ~ name ~ gap ~ '(?:[*](?!/))?+(?:' ~ gap
        ~ '(?:' ~ options ~ ')\\b)*+' ~ gap ~ '(?:[*]/)?' ~ gap ~ ';?' ~ gap -%}
    {%- if table is none -%}
        {{- return(statement ~ " rlike r'" ~ pattern ~ "\\z'") -}}
    {%- endif -%}
    {{- return(
        'concat(' ~ statement ~ ", '\\u0000', " ~ table ~ ", '\\u0000', coalesce(" ~ (qualifier or "''") ~ ", '')) rlike r'" ~ pattern
        ~ "\\x00(?:\\6|(?-iu:\\7|\\8|\\9))\\x00(?:\\5[^\\x00]*+|\\1|(?-iu:\\2|\\3|\\4))\\z'"
    ) -}}
{%- endmacro -%}

{#- True of a statement whose first word is not TRUNCATE. -#}
{%- macro _is_other_statement(statement) -%}
    {{- return(statement ~ " rlike r'(?i)^" ~ spark_cdc._sql_gap() ~ "(?!TRUNCATE\\b)[A-Z(]'") -}}
{%- endmacro -%}

{#- True of a statement that begins with TRUNCATE. Where `_truncate_fault` finds nothing, it empties the table of its message. -#}
{%- macro _begins_with_truncate(statement) -%}
    {{- return(statement ~ " rlike r'(?i)^" ~ spark_cdc._sql_start() ~ "TRUNCATE\\b'") -}}
{%- endmacro -%}

{#- True of a statement, beside an operation that says TRUNCATE, which does not. -#}
{%- macro _is_no_truncate(statement) -%}
    {{- return('trim(' ~ statement ~ ") <> '' and not " ~ spark_cdc._begins_with_truncate(statement)) -}}
{%- endmacro -%}

{#-
    The error of a DDL message that may be a truncate and is not surely the one of its table, else NULL: other_structure where the
    statement names another table, unknown_op where it empties more or less than one table, or cannot be read. As a mere DDL its
    rows would live on. `path`: the field that has the statement.
-#}
{%- macro _truncate_fault(statement, table, qualifier=none, path='statement') -%}
    {{- return(
        'case when contains(lower(' ~ statement ~ "), 'truncate') and (not " ~ spark_cdc._is_other_statement(statement) ~ ' or '
        ~ spark_cdc._has_later_statement(statement, ['TRUNCATE']) ~ ') then case when '
        ~ spark_cdc._truncates_a_table(statement, table, qualifier) ~ ' then null when ' ~ spark_cdc._truncates_a_table(statement)
        ~ ' then ' ~ spark_cdc._error('other_structure', path ~ ': it empties a table that the message does not say is emptied')
        ~ ' else ' ~ spark_cdc._error('unknown_op', path ~ ': it names TRUNCATE and does not plainly empty one table') ~ ' end end'
    ) -}}
{%- endmacro -%}

{#-
    The error of a DDL message that may change rows of its table, else NULL: as `_truncate_fault`, and where its statement changes
    single rows.
-#}
{%- macro _ddl_fault(statement, table, qualifier=none, path='statement') -%}
    {{- return(
        'case when ' ~ spark_cdc._changes_rows(statement) ~ ' then '
        ~ spark_cdc._error('unknown_op', path ~ ': it changes rows, which the message does not have') ~ ' else '
        ~ spark_cdc._truncate_fault(statement, table, qualifier, path) ~ ' end'
    ) -}}
{%- endmacro -%}

{%- macro _changes_rows(statement) -%}
    {%- set words = ['INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'LOAD', 'MERGE', 'WITH', 'COPY'] -%}
    {{- return(
        '(' ~ statement ~ " rlike r'(?i)^" ~ spark_cdc._sql_start() ~ '(?:' ~ words | join('|') ~ ")\\b' or "
        ~ spark_cdc._has_later_statement(statement, words) ~ ')'
    ) -}}
{%- endmacro -%}

{#-
    True where one of these words begins a statement in brackets or behind a semicolon. Of a procedure that is made the statements
    do not run. What is a text or a comment is none; where databases read that in two ways (`#`, a backslash, Oracle's q'[it's]'),
    a semicolon and a word anywhere are enough.
-#}
{%- macro _has_later_statement(statement, words) -%}
    {%- set gap = spark_cdc._sql_gap() -%}
    {%- set word = spark_cdc._sql_start() ~ '(?:' ~ words | join('|') ~ ')\\b' -%}
    {%- set texts = '\\x27(?:[^\\x27\\\\]++|\\\\.)*+\\x27|\\x22(?:[^\\x22\\\\]++|\\\\.)*+\\x22|`[^`]*+`' -%}
    {%- set comments = '/[*](?!M?!)(?:[^*]++|[*](?!/))*+[*]/|--(?=\\s)[^\\n]*+' -%}
    {%- set what = ['OR\\s++(?:REPLACE|ALTER)\\b', '(?:NON)?EDITIONABLE\\b', 'DEFINER\\s*+=\\s*+\\S++', 'AGGREGATE\\b', 'CONSTRAINT\\b'] -%}
    {%- set makes_procedure = '(?!(?:CREATE|ALTER)\\b' ~ gap ~ '(?:(?:' ~ what | join('|') ~ ')' ~ gap
        ~ ')*+(?:PROCEDURE|PROC|FUNCTION|TRIGGER|EVENT|PACKAGE|TYPE\\s++BODY|RULE)\\b)' -%}
    {%- set rest = '|' ~ texts ~ '|' ~ comments ~ '|[/-]' -%}
    {%- set found = statement ~ " rlike r'(?is)^" ~ gap ~ '(?:(?:[(]' ~ gap ~ ')++' ~ word ~ '|' ~ makes_procedure
        ~ '(?:[^;\\x27\\x22`/-]++' ~ rest ~ '|;(?!' ~ word ~ '))*+;' ~ word ~ ")'" -%}
    {%- set read_in_two_ways = 'contains(' ~ statement ~ ", '#') or not " ~ statement ~ " rlike r'(?is)^(?:[^\\x27\\x22`/-]++" ~ rest
        ~ ")*+\\z'" -%}
    {%- set found_anywhere = statement ~ " rlike r'(?is)^" ~ gap ~ makes_procedure ~ '.*;' ~ word ~ "'" -%}
    {{- return(
        'case when contains(' ~ statement ~ ", ';') or contains(" ~ statement ~ ", '(') then " ~ found ~ ' or (('
        ~ read_in_two_ways ~ ') and ' ~ found_anywhere ~ ') else false end'
    ) -}}
{%- endmacro -%}

{#-
    What stands between the words of a statement. Not what databases read in two ways: a comment inside a comment, which only
    some of them know, and a lone carriage return in a comment, which ends it for some.
-#}
{%- macro _sql_gap() -%}
    {{- return(
        '(?:\\s++|/[*](?!M?!)(?:[^*/\\x00]++|[*](?!/)|/(?![*]))*+[*]/|(?:--|#)[^\\r\\n\\x00]*+(?=\\r?\\n|\\x00|\\z))*+'
    ) -}}
{%- endmacro -%}

{#-
    What may stand before the first word of a statement. MySQL runs what a comment with `!` holds; one that did not run would
    stand in no log.
-#}
{%- macro _sql_start() -%}
    {%- set gap = spark_cdc._sql_gap() -%}
    {{- return(gap ~ '(?:/[*]M?![0-9]*+' ~ gap ~ ')?') -}}
{%- endmacro -%}

{#- True of what holds no statement: blanks, comments, semicolons. NULL where it is NULL. -#}
{%- macro _is_no_statement(text) -%}
    {%- set gap = spark_cdc._sql_gap() -%}
    {{- return(text ~ " rlike r'^(?:" ~ gap ~ ';)*+' ~ gap ~ "\\z'") -}}
{%- endmacro -%}

{#- False of a number, a truth value or an object in the place of a statement, and of none. -#}
{%- macro _may_be_statement(text) -%}
    {{- return('coalesce(' ~ text ~ " rlike r'^\\s*+(?!(?:true|false)\\z)(?:[A-Za-z(#]|/[*]|--)', false)") -}}
{%- endmacro -%}
