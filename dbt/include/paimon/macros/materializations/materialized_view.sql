{#- A materialized table of Paimon's: refreshed by each run, incrementally if its query allows that. -#}
{% materialization materialized_view, adapter='paimon' %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='materialized_view') -%}
  {%- set is_new = existing is none or not existing.is_materialized_view or should_full_refresh() -%}

  {{ run_hooks(pre_hooks) }}
  {% do paimon_refuse_branches_of_parents() %}
  {% if existing is not none and is_new %}
    {% do log('Applying REPLACE to: ' ~ existing) %}
    {% do adapter.drop_relation(existing) %}
  {% endif %}
  {% call statement('main') %}
    {{ paimon_materialized_table_as(target, compiled_code) }}
  {% endcall %}
  {% if not is_new %}
    {% do run_query('alter materialized table ' ~ target ~ ' refresh') %}
  {% endif %}
  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{% macro paimon_materialized_table_as(relation, sql) -%}
  {%- set key = adapter.primary_key_of(model) -%}
  {%- set options = adapter.options_of(model) -%}
  {%- do options.pop('primary-key', none) -%}
  create or alter materialized table {{ relation }}
  {% if key %}(primary key ({{ get_quoted_csv(key) }}) not enforced){% endif %}
  {{ comment_clause() }}
  {{ partition_cols(label='partitioned by') }}
  {% if options %}with (
    {%- for name, value in options.items() -%}
      {{ adapter.literal(name) }} = {{ adapter.literal(value) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  ){% endif %}
  {% if config.get('freshness') %}freshness = interval {{ config.get('freshness') }}{% endif %}
  {% if config.get('refresh_mode') %}refresh_mode = {{ config.get('refresh_mode') }}{% endif %}
  as
  {{ sql }}
{%- endmacro %}
