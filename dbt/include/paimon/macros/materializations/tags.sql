{#-
  Tag the snapshot that a run has made; codes such as %Y-%m-%d stand for the time at which dbt started. A table that never
  had rows has no snapshot.
-#}
{% macro paimon_tag(relation) %}
  {%- if config.get('tag') and run_query('select 1 from ' ~ relation.system_table('snapshots') ~ ' limit 1').rows | length -%}
    {%- set name = run_started_at.strftime(config.get('tag')) -%}
    {%- set retained = ' retain ' ~ config.get('tag_retained') if config.get('tag_retained') else '' -%}
    {%- do run_query('alter table ' ~ relation ~ ' create or replace tag `' ~ name ~ '`' ~ retained) -%}
  {%- endif -%}
{% endmacro %}
