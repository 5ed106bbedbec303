{#- The time limit of an age: whole days before this command started. -#}

{%- macro _require_days(operation, argument, value, lowest, reason) -%}
    {#- Python's calendar begins with the year 1 -#}
    {%- set highest = 700000 -%}
    {%- if value is not integer or value is boolean or not lowest <= value <= highest -%}
        {%- do spark_cdc._raise(
            operation, argument, 'a whole number from ' ~ lowest ~ (' to ' ~ highest if value is integer and value > highest else ' on'),
            ('the text ' if value is string else '') ~ spark_cdc._show(value), reason
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _days_ago(days) -%}
    {%- set time = run_started_at - modules.datetime.timedelta(days=days) -%}
    {{- return("timestamp'" ~ time.strftime('%Y-%m-%d %H:%M:%S') ~ " UTC'") -}}
{%- endmacro -%}
