{#- dbt's own materialization: Paimon's tables support what it needs, which dbt-spark's expects of other formats only. -#}
{% materialization snapshot, adapter='paimon' %}
  {% do paimon_refuse_branches_of_parents() %}
  {{ return(dbt.materialization_snapshot_default()) }}
{% endmaterialization %}

{% macro paimon__snapshot_merge_sql(target, source, insert_cols) -%}
  {{ dbt.default__snapshot_merge_sql(target, source, insert_cols) }}
{%- endmacro %}

{#- Schemas are not in databases here, so the model's database is not defined. -#}
{% macro paimon__get_or_create_relation(database, schema, identifier, type) %}
  {% do return(dbt.default__get_or_create_relation(none, schema, identifier, type)) %}
{% endmacro %}
