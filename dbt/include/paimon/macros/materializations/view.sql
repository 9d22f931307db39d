{% materialization view, adapter='paimon' %}
  {%- set existing = load_cached_relation(this) -%}
  {% do paimon_refuse_branches_of_parents() %}
  {% if existing is not none and existing.is_materialized_view %}
    {% do adapter.drop_relation(existing) %}
  {% endif %}
  {{ return(create_or_replace_view()) }}
{% endmaterialization %}
