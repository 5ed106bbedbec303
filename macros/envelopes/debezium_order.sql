{#-
    The position of a change in the log of its database, by connector.
    Facts: debezium.io/documentation, the connectors' "source" fields; docs/formats/debezium.md.

    Log positions as numbers. 0 or 1 says snapshot or change, at the same position.
-#}
{%- macro _debezium_sequence(source, op) -%}
    {%- set is_change = "case when " ~ op ~ " = 'r' then 0 else 1 end" -%}
    {%- set mysql = [
        "regexp_extract(" ~ source ~ ".file, '([0-9]+)$', 1)", source ~ '.pos', is_change, source ~ '.row',
    ] -%}
    {%- set lsns = "from_json(" ~ source ~ ".sequence, 'array<string>')" -%}
    {%- set postgresql = [
        'coalesce(get(' ~ lsns ~ ', 0), ' ~ source ~ '.lsn)', is_change, 'coalesce(get(' ~ lsns ~ ', 1), ' ~ source ~ '.lsn)',
    ] -%}
    {%- set oracle = ['coalesce(' ~ source ~ '.commit_scn, ' ~ source ~ '.scn)', is_change, source ~ '.scn'] -%}
    {%- set lsn_words -%}
        concat(
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ ".commit_lsn, '0')") }},
            array(cast({{ is_change }} as decimal(20,0))),
            {{ spark_cdc._debezium_lsn('coalesce(' ~ source ~ '.change_lsn, ' ~ source ~ ".commit_lsn, '0')") }},
            array(coalesce(try_cast({{ source }}.event_serial_no as decimal(20,0)), 0))
        )
    {%- endset -%}
    {{- return(spark_cdc._debezium_by_connector(
        source, spark_cdc._decimals(mysql), spark_cdc._decimals(postgresql), spark_cdc._decimals(oracle), lsn_words,
        'cast(array() as array<decimal(20,0)>)'
    )) -}}
{%- endmacro -%}

{#- The sequence of other connectors, such as Spanner's, is no pair of LSNs. -#}
{%- macro _debezium_by_connector(source, mysql, postgresql, oracle, lsn_words, other) -%}
    {{- return(
        "case when " ~ source ~ ".connector in ('mysql', 'mariadb') or " ~ source ~ ".file is not null then " ~ mysql
        ~ " when coalesce(" ~ source ~ ".connector = 'postgresql', " ~ source ~ ".sequence is not null) then " ~ postgresql
        ~ " when " ~ source ~ ".connector = 'oracle' then " ~ oracle ~ " when " ~ source
        ~ ".connector in ('sqlserver', 'db2') or " ~ source ~ ".commit_lsn is not null then " ~ lsn_words ~ " else " ~ other
        ~ " end"
    ) -}}
{%- endmacro -%}

{#-
    True where a part of the position is there and no number, or is missing. A row of a snapshot may lack its position: it
    is read while the log goes on, and then comes before every change. An empty `file` with `pos` 0, as TiCDC writes it, says
    that there is no position: the offset alone orders such changes. Debezium before 1.5 has no `sequence`: the LSN orders the
    changes of one row, because the second waits for the first one's commit.
-#}
{%- macro _debezium_has_no_place(source, op) -%}
    {%- set is_snapshot = op ~ " = 'r'" -%}
    {%- set number = "rlike r'^[0-9]{1,20}\\z'" -%}
    {%- set words = "rlike r'^[0-9A-Fa-f]{1,16}(?::[0-9A-Fa-f]{1,16})*+\\z'" -%}
    {%- set lsn = "(?:null|\"?[0-9]{1,20}\"?)" -%}
    {%- set mysql -%}
        case
            when {{ source }}.file is null then not {{ is_snapshot }}
            when {{ source }}.file = '' then {{ source }}.pos <> 0
            else {{ source }}.file not rlike r'(?<![0-9])[0-9]{1,20}\z' or coalesce({{ source }}.pos, -1) < 0
        end
    {%- endset -%}
    {%- set postgresql -%}
        case
            when {{ source }}.sequence is null then not coalesce({{ source }}.lsn {{ number }}, {{ is_snapshot }})
            else {{ source }}.sequence not rlike r'^\[{{ lsn }}, ?{{ lsn }}\]\z'
                or (contains({{ source }}.sequence, 'null') and not coalesce({{ source }}.lsn {{ number }}, {{ is_snapshot }}))
        end
    {%- endset -%}
    {#- XStream sends no commit_scn. -#}
    {%- set oracle -%}
        not coalesce({{ source }}.scn {{ number }}, {{ is_snapshot }})
        or not coalesce(nullif({{ source }}.commit_scn, '') {{ number }}, {{ source }}.commit_scn is null or {{ is_snapshot }})
    {%- endset -%}
    {%- set lsn_words -%}
        not coalesce(nullif({{ source }}.commit_lsn, 'NULL') {{ words }}, {{ is_snapshot }})
        or not coalesce(nullif({{ source }}.change_lsn, 'NULL') {{ words }}, {{ source }}.change_lsn is null or {{ is_snapshot }})
        or {{ source }}.event_serial_no not {{ number }}
    {%- endset -%}
    {{- return(spark_cdc._debezium_by_connector(source, mysql, postgresql, oracle, lsn_words, 'false')) -}}
{%- endmacro -%}

{#- SQL Server and Db2 write an LSN as hexadecimal words: 00000027:00000758:0005. -#}
{%- macro _debezium_lsn(text) -%}
    {{- return(
        "transform(split(" ~ text ~ ", ':'), word -> cast(conv(word, 16, 10) as decimal(20,0)))"
    ) -}}
{%- endmacro -%}
