{% materialization incremental, adapter='paimon' %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set strategy = adapter.get_incremental_strategy_macro(context, config.get('incremental_strategy') or 'default') -%}

  {{ run_hooks(pre_hooks) }}
  {% do paimon_refuse_branches_of_parents() %}
  {% if existing is none or not existing.is_table or should_full_refresh() %}
    {% do paimon_build_table(existing, target, compiled_code) %}
  {% else %}
    {% if target.branch %}{% do paimon_start_branch(existing, target, compiled_code) %}{% endif %}
    {% do paimon_update_options(target) %}
    {%- set view = paimon_view_of(target, compiled_code) -%}
    {%- set columns = process_schema_changes(on_schema_change, view, target) -%}
    {%- set incremental = {
        'target_relation': target,
        'temp_relation': view,
        'unique_key': config.get('unique_key'),
        'dest_columns': columns or adapter.get_columns_in_relation(target),
        'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
    } -%}
    {% call statement('main') %}{{ strategy(incremental) }}{% endcall %}
  {% endif %}
  {% do paimon_finish(target) %}
  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{% endmaterialization %}
