{#- Expressions that several formats need of a message's fields. None of them stops a batch. -#}

{#- Text of a whole number of up to 20 digits, as the places in a source's order are, or NULL. A cast alone would round 1.5. -#}
{%- macro _whole_number(text, signed=false) -%}
    {{- return(
        'case when ' ~ text ~ " rlike r'^" ~ ('-?' if signed else '') ~ "[0-9]++\\z' then try_cast(" ~ text
        ~ ' as decimal(20,0)) end'
    ) -}}
{%- endmacro -%}

{#- Two lists as a map, or NULL where a name stands twice or is missing: map_from_arrays alone would stop the batch. -#}
{%- macro _map_of(names, values) -%}
    {{- return(
        'case when size(array_distinct(array_compact(' ~ names ~ '))) = size(' ~ names ~ ') then map_from_arrays('
        ~ names ~ ', ' ~ values ~ ') end'
    ) -}}
{%- endmacro -%}

{#- True of a statement that empties one table: no other one, no cluster of tables. Comments may stand before it. -#}
{%- macro _truncates_a_table(statement) -%}
    {{- return(
        statement ~ " rlike r'(?is)^\\s*+(?:/\\*.*?\\*/\\s*+)*+truncate\\s++(?!cluster\\s)[^,;()]++;?\\s*+\\z'"
    ) -}}
{%- endmacro -%}
