{#-
    Compiled SQL is for people too: a line of a query that is longer than 160 characters is broken at its brackets, CASE
    branches, commas, AND and OR. Names and comments stay whole, and a literal that is too long is put together of its pieces.
-#}
{%- macro _with_short_lines(query) -%}
    {#- Nobody reads what `dbt parse` renders. -#}
    {%- if not execute -%}
        {{- return(query) -}}
    {%- endif -%}
    {%- set literal = spark_cdc._whole_pattern() -%}
    {%- set comment = '--[^\\n]*' -%}
    {#- Tokens are the places where a line may be broken, and all that stands between two of them. -#}
    {%- set word = '(?!(?:case|when|then|else|end|and|or|between|rlike)\\b)\\w+' -%}
    {%- set between = '(?:' ~ literal ~ '|\\.\\w+|' ~ word ~ "|(?!--)[^\\w()\\[\\],'\"`])+" -%}
    {%- set lines = [] -%}
    {%- for line in modules.re.findall('(?s)(?:' ~ literal ~ '|' ~ comment ~ '|[^\\n])+|\\n', query) -%}
        {%- if line | length > 160 -%}
            {%- set text = line.lstrip(' ') -%}
            {%- set tokens = modules.re.findall('(?s)' ~ comment ~ '|' ~ between ~ '|\\w+|.', text) -%}
            {%- do lines.append(spark_cdc._broken_line(spark_cdc._nested_parts(tokens), line | length - text | length)) -%}
        {%- else -%}
            {%- do lines.append(line) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(lines | join) -}}
{%- endmacro -%}

{#- Pattern of a literal, a name in quotes or a comment. -#}
{%- macro _whole_pattern() -%}
    {{- return("(?<!\\w)r'[^']*'|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|/\\*.*?\\*/") -}}
{%- endmacro -%}

{#-
    The tokens of a line as its parts: a token, or a bracket or CASE with what is inside of it. Each has a `text`. A bracket without
    its other half is a token.
-#}
{%- macro _nested_parts(tokens) -%}
    {%- set levels = [[]] -%}
    {%- for token in tokens -%}
        {%- if token in ['(', '[', 'case'] -%}
            {%- do levels.append([{'text': token}]) -%}
        {%- elif token in [')', ']', 'end'] and levels | length > 1 -%}
            {%- set inside = levels.pop() -%}
            {%- set text = inside | join(attribute='text') -%}
            {%- do levels[-1].append({'text': text ~ token, 'begins': inside[0], 'inside': inside[1:], 'ends': token}) -%}
        {%- else -%}
            {%- do levels[-1].append({'text': token}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(levels | sum(start=[])) -}}
{%- endmacro -%}

{#- The parts of a line as lines that begin with so many blanks. -#}
{%- macro _broken_line(parts, blanks) -%}
    {%- set parts = parts[(parts and parts[0].text == ' ') | int:] -%}
    {%- set text = (parts | join(attribute='text')).strip(' ') -%}
    {%- if blanks + text | length <= 160 or parts[-1].text.startswith('--') -%}
        {{- return(' ' * blanks ~ text) -}}
    {%- endif -%}
    {%- set places = spark_cdc._places_to_break(parts) -%}
    {%- set group = places.longest_group -%}
    {%- if group is not none and not places.branches and places.length_of_group * 2 > text | length -%}
        {%- set begins = (parts[:group] | join(attribute='text') ~ parts[group].begins.text).strip(' ') -%}
        {%- if begins | length <= 110 -%}
            {{- return(spark_cdc._broken_group(parts, group, blanks)) -}}
        {%- endif -%}
    {%- endif -%}
    {%- for kind in ['branches', 'commas', 'then', 'or', 'and', 'rlike'] if places[kind] -%}
        {%- set more_blanks = 0 if kind in ['branches', 'commas'] else 4 -%}
        {%- set pieces, begin = [], namespace(at=0) -%}
        {%- for place in places[kind] + [parts | length] -%}
            {%- do pieces.append(spark_cdc._broken_line(parts[begin.at:place], blanks + (more_blanks if begin.at else 0))) -%}
            {%- set begin.at = place -%}
        {%- endfor -%}
        {{- return(spark_cdc._filled(pieces) if kind == 'commas' else pieces | join('\n')) -}}
    {%- endfor -%}
    {%- if group is not none -%}
        {{- return(spark_cdc._broken_group(parts, group, blanks)) -}}
    {%- endif -%}
    {{- return(' ' * blanks ~ spark_cdc._with_pieces(text, blanks)) -}}
{%- endmacro -%}

{#- A text whose longest literal is in pieces, if it is long. They end after `|` or a comma, as in a pattern or a list of types. -#}
{%- macro _with_pieces(text, blanks) -%}
    {%- set longest = namespace(literal='') -%}
    {%- for whole in modules.re.findall('(?s)' ~ spark_cdc._whole_pattern(), text) if whole[0] in "r'" -%}
        {%- set longest.literal = whole if whole | length > longest.literal | length else longest.literal -%}
    {%- endfor -%}
    {%- set literal = longest.literal -%}
    {%- set most = [60, 145 - blanks] | max -%}
    {%- if literal | length <= most -%}
        {{- return(text) -}}
    {%- endif -%}
    {%- set quote = "r'" if literal[0] == 'r' else "'" -%}
    {%- set cut = namespace(pieces=['']) -%}
    {%- for part in modules.re.findall('(?s)(?:(?!, )[^|])*(?:[|]|, |\\Z)', literal[quote | length:-1]) -%}
        {%- set both = cut.pieces[-1] ~ part -%}
        {%- set cut.pieces = cut.pieces + [part] if both | length > most else cut.pieces[:-1] + [both] -%}
    {%- endfor -%}
    {%- set between = "'\n" ~ ' ' * (blanks + 4) ~ '|| ' ~ quote -%}
    {{- return(text | replace(literal, quote ~ cut.pieces | join(between) ~ "'", 1)) -}}
{%- endmacro -%}

{#- A bracket, or CASE and END, with what is in it on lines of its own. -#}
{%- macro _broken_group(parts, place, blanks) -%}
    {%- set group = parts[place] -%}
    {%- set after = spark_cdc._broken_line(parts[place + 1:], blanks).strip(' ') -%}
    {%- set gap = ' ' if after and parts[place + 1].text.startswith(' ') else '' -%}
    {{- return([
        spark_cdc._broken_line(parts[:place] + [group.begins], blanks),
        spark_cdc._broken_line(group.inside, blanks + 4),
        ' ' * blanks ~ group.ends ~ gap ~ after
    ] | join('\n')) -}}
{%- endmacro -%}

{#- The places where a line can be broken outside of its brackets, and the place of the longest bracket. -#}
{%- macro _places_to_break(parts) -%}
    {%- set places = {'branches': [], 'commas': [], 'then': [], 'or': [], 'and': [], 'rlike': []} -%}
    {%- set at = namespace(between=false, longest_group=none, length=0) -%}
    {%- for part in parts -%}
        {%- set place, text = loop.index0, part.text -%}
        {%- if part.inside is defined -%}
            {%- set length = text | length - part.ends | length -%}
            {%- if length > at.length -%}
                {%- set at.longest_group, at.length = place, length -%}
            {%- endif -%}
        {%- elif loop.first or loop.last -%}
        {%- elif text == ',' -%}
            {%- do places.commas.append(place + 1) -%}
        {%- elif text in ['when', 'else'] -%}
            {%- do places.branches.append(place) -%}
        {%- elif text == 'between' -%}
            {%- set at.between = true -%}
        {%- elif text == 'and' and at.between -%}
            {%- set at.between = false -%}
        {%- elif text in ['then', 'or', 'and', 'rlike'] -%}
            {%- do places[text].append(place) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(dict(places, longest_group=at.longest_group, length_of_group=at.length)) -}}
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
