{#- The names that statements list: of tables, views and materialized tables. -#}

{% macro paimon_show_tables(relation) %}
  {% do return(run_query('show tables in ' ~ relation.without_identifier())) %}
{% endmacro %}

{% macro paimon_show_views(relation) %}
  {% do return(run_query('show views in ' ~ relation.without_identifier())) %}
{% endmacro %}

{% macro paimon_show_materialized_tables(relation) %}
  {% do return(run_query('show materialized tables in ' ~ relation.without_identifier())) %}
{% endmacro %}

{% macro paimon__drop_relation(relation) -%}
  {%- set kind = 'materialized table' if relation.is_materialized_view else relation.type -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    drop {{ kind }} if exists {{ relation }}
  {%- endcall %}
{% endmacro %}

{#- A temporary view of the connection, whose name is without schema and branch. -#}
{% macro paimon__make_temp_relation(base_relation, suffix) %}
  {%- set view = api.Relation.create(identifier=base_relation.identifier ~ suffix, type='view') -%}
  {% do return(view.include(database=false, schema=false)) %}
{% endmacro %}
