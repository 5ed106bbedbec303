{#-
    Compiled SQL is for people too: a line of a query that is longer than 160 characters is broken at its brackets, CASE
    branches, commas, AND and OR. Names and comments stay whole. A literal that does not fit in a line is written in pieces.
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

{#- Pattern of a literal, a name in quotes or a comment between two words. -#}
{%- macro _whole_pattern() -%}
    {{- return("(?<!\\w)[rR]'[^']*'|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|/\\*.*?\\*/") -}}
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

{#- A text of one line in lines: a literal with which it is too long is in pieces, `'...' || '...'`. -#}
{%- macro _with_pieces(text, blanks) -%}
    {%- set cut = namespace(lines=[''], after_word=false) -%}
    {%- for token in modules.re.findall('(?s)' ~ spark_cdc._whole_pattern() ~ '|\\w+|.', text) -%}
        {%- set is_long = blanks + cut.lines[-1] | length + token | length > 160 -%}
        {#- Not X'..', and not a literal of several lines. -#}
        {%- set is_text = token[-1] == "'" and not cut.after_word and '\n' not in token -%}
        {%- set pieces = spark_cdc._pieces(token, 145 - blanks, cut.lines[-1] | length) if is_long and is_text else [token] -%}
        {%- set cut.lines = cut.lines[:-1] + [cut.lines[-1] ~ pieces[0]] + pieces[1:] -%}
        {%- set cut.after_word = modules.re.search('\\w\\Z', token) is not none -%}
    {%- endfor -%}
    {{- return(cut.lines | join('\n' ~ ' ' * blanks)) -}}
{%- endmacro -%}

{#- A literal in pieces that end after `|` or a comma, as in a pattern or a list of types. `used` of the first line is taken. -#}
{%- macro _pieces(literal, width, used) -%}
    {%- set quote = modules.re.match("[rR]?'", literal)[0] -%}
    {%- set cut = namespace(pieces=[], room=width - used) -%}
    {%- for part in modules.re.findall('(?s)(?:(?!, )[^|])+(?:[|]|, |\\Z)|[|]|, ', literal[quote | length:-1]) -%}
        {%- if cut.pieces and (cut.pieces[-1] ~ part) | length <= cut.room -%}
            {%- set cut.pieces = cut.pieces[:-1] + [cut.pieces[-1] ~ part] -%}
        {%- else -%}
            {%- set cut.room = width if cut.pieces else cut.room -%}
            {%- set cut.pieces = cut.pieces + [part] -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set pieces = [] -%}
    {%- for piece in cut.pieces -%}
        {%- do pieces.append(('' if loop.first else '    || ') ~ quote ~ piece ~ "'") -%}
    {%- endfor -%}
    {{- return(pieces or [literal]) -}}
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
