{#- How old is old: whole days before this command started. -#}

{%- macro _require_days(operation, argument, value, lowest, reason) -%}
    {%- if value is not integer or value is boolean or value < lowest -%}
        {%- do spark_cdc._raise(
            operation, argument, 'a whole number from ' ~ lowest ~ ' on', spark_cdc._show(value), reason
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _days_ago(days) -%}
    {%- set time = run_started_at - modules.datetime.timedelta(days=days) -%}
    {{- return("timestamp'" ~ time.strftime('%Y-%m-%d %H:%M:%S') ~ " UTC'") -}}
{%- endmacro -%}
