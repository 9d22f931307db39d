{% macro paimon__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- if add_columns -%}
    {%- set added = [] -%}
    {%- for column in add_columns -%}
      {%- do added.append(column.quoted ~ ' ' ~ column.data_type) -%}
    {%- endfor -%}
    {%- do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
  {%- endif -%}
  {%- if remove_columns -%}
    {%- set removed = remove_columns | map(attribute='quoted') | join(', ') -%}
    {%- do run_query('alter table ' ~ relation ~ ' drop columns (' ~ removed ~ ')') -%}
  {%- endif -%}
{% endmacro %}

{% macro paimon__alter_column_type(relation, column_name, new_column_type) %}
  {%- do run_query('alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(column_name) ~ ' type ' ~ new_column_type) -%}
{% endmacro %}

{#- Only comments that have changed are written, since each change makes a schema version. -#}
{% macro paimon__persist_docs(relation, model, for_relation, for_columns) %}
  {%- set present = adapter.get_columns_in_relation(relation) -%}
  {%- set comments = {} -%}
  {%- for column in present -%}
    {%- do comments.update({column.name: column.column_comment or ''}) -%}
  {%- endfor -%}
  {%- set is_new = present and (present[0].table_comment or '') != (model.description or '') -%}
  {%- if for_relation and config.persist_relation_docs() and model.description and is_new -%}
    {%- do run_query('comment on table ' ~ relation ~ ' is ' ~ adapter.literal(model.description)) -%}
  {%- endif -%}
  {%- if for_columns and config.persist_column_docs() and model.columns -%}
    {%- set changed = [] -%}
    {%- for name, column in validate_doc_columns(relation, model.columns, comments.keys() | list).items() -%}
      {%- if column.description and comments.get(name) != column.description -%}
        {%- do changed.append(adapter.quote(name) ~ ' comment ' ~ adapter.literal(column.description)) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- if changed -%}
      {%- do run_query('alter table ' ~ relation ~ ' alter column ' ~ changed | join(', ')) -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}
