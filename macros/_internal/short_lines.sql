{#-
    Compiled SQL is for people too: a line of a query that is longer than 160 characters is broken at its brackets, CASE
    branches, commas, AND and OR. Literals, names and comments stay whole, so the query means the same.
-#}
{%- macro _with_short_lines(query) -%}
    {#- Nobody reads what `dbt parse` renders. -#}
    {%- if not execute -%}
        {{- return(query) -}}
    {%- endif -%}
    {%- set whole = "(?<!\\w)r'[^']*'|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|--[^\\n]*|/\\*.*?\\*/" -%}
    {%- set lines = [] -%}
    {%- for line in modules.re.findall('(?s)(?:' ~ whole ~ '|[^\\n])+|\\n', query) -%}
        {%- if line | length > 160 -%}
            {%- set text = line.lstrip(' ') -%}
            {%- set tokens = modules.re.findall('(?s)' ~ whole ~ '|\\.?\\w+|\\s+|.', text) -%}
            {%- do lines.append(spark_cdc._broken_line(tokens, line | length - text | length)) -%}
        {%- else -%}
            {%- do lines.append(line) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(lines | join) -}}
{%- endmacro -%}

{#- The tokens of a line as lines that begin with so many blanks. -#}
{%- macro _broken_line(tokens, blanks) -%}
    {%- set tokens = tokens[(tokens and tokens[0] == ' ') | int:] -%}
    {%- set text = (tokens | join).strip(' ') -%}
    {%- if blanks + text | length <= 160 or tokens[-1].startswith('--') -%}
        {{- return(' ' * blanks ~ text) -}}
    {%- endif -%}
    {%- set outer = spark_cdc._outer_parts(tokens) -%}
    {%- set group = outer.longest_group -%}
    {%- set begins = (tokens[:group.first + 1] | join).strip(' ') if group else '' -%}
    {%- if group and not outer.branches and group.length * 2 > text | length and begins | length <= 110 -%}
        {{- return(spark_cdc._broken_group(tokens, group, blanks)) -}}
    {%- endif -%}
    {%- for kind in ['branches', 'commas', 'then', 'or', 'and', 'rlike'] if outer[kind] -%}
        {%- set more_blanks = 0 if kind in ['branches', 'commas'] else 4 -%}
        {%- set pieces, begin = [], namespace(at=0) -%}
        {%- for place in outer[kind] + [tokens | length] -%}
            {%- do pieces.append(spark_cdc._broken_line(tokens[begin.at:place], blanks + (more_blanks if begin.at else 0))) -%}
            {%- set begin.at = place -%}
        {%- endfor -%}
        {{- return(spark_cdc._filled(pieces) if kind == 'commas' else pieces | join('\n')) -}}
    {%- endfor -%}
    {{- return(spark_cdc._broken_group(tokens, group, blanks) if group else ' ' * blanks ~ text) -}}
{%- endmacro -%}

{#- A bracket, or CASE and END, with what is in it on lines of its own. -#}
{%- macro _broken_group(tokens, group, blanks) -%}
    {%- set inside = tokens[group.first + 1:group.last] -%}
    {%- set after = spark_cdc._broken_line(tokens[group.last + 1:], blanks).strip(' ') -%}
    {%- set gap = ' ' if tokens[group.last + 1:group.last + 2] == [' '] and after else '' -%}
    {{- return([
        spark_cdc._broken_line(tokens[:group.first + 1], blanks),
        spark_cdc._broken_line(inside, blanks + 4),
        ' ' * blanks ~ tokens[group.last] ~ gap ~ after
    ] | join('\n')) -}}
{%- endmacro -%}

{#- The places where tokens can be parted outside of all brackets, and the longest bracket. One without its other half is none. -#}
{%- macro _outer_parts(tokens) -%}
    {%- set opened, halves = [], {} -%}
    {%- for token in tokens -%}
        {%- if token in ['(', '[', 'case'] -%}
            {%- do opened.append(loop.index0) -%}
        {%- elif token in [')', ']', 'end'] and opened -%}
            {%- do halves.update({opened.pop(): loop.index0}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set parts = {'branches': [], 'commas': [], 'then': [], 'or': [], 'and': [], 'rlike': []} -%}
    {%- set at = namespace(end=-1, between=false, longest=none) -%}
    {%- for token in tokens -%}
        {%- set index = loop.index0 -%}
        {%- if index > at.end -%}
            {%- if index in halves -%}
                {%- set at.end = halves[index] -%}
                {%- set length = tokens[index:at.end] | join | length -%}
                {%- if at.longest is none or length > at.longest.length -%}
                    {%- set at.longest = {'first': index, 'last': at.end, 'length': length} -%}
                {%- endif -%}
            {%- elif index in [0, tokens | length - 1] -%}
            {%- elif token == ',' -%}
                {%- do parts.commas.append(index + 1) -%}
            {%- elif token in ['when', 'else'] -%}
                {%- do parts.branches.append(index) -%}
            {%- elif token == 'between' -%}
                {%- set at.between = true -%}
            {%- elif token == 'and' and at.between -%}
                {%- set at.between = false -%}
            {%- elif token in ['then', 'or', 'and', 'rlike'] -%}
                {%- do parts[token].append(index) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(dict(parts, longest_group=at.longest)) -}}
{%- endmacro -%}

{#- Lines of a list, of which two are one where they fit. -#}
{%- macro _filled(lines) -%}
    {%- set filled = namespace(lines=lines[:1]) -%}
    {%- for line in lines[1:] -%}
        {%- set both = filled.lines[-1] ~ ' ' ~ line.strip(' ') -%}
        {%- set fits = '\n' not in both and both | length <= 160 -%}
        {%- set filled.lines = filled.lines[:-1] + [both] if fits else filled.lines + [line] -%}
    {%- endfor -%}
    {{- return(filled.lines | join('\n')) -}}
{%- endmacro -%}
