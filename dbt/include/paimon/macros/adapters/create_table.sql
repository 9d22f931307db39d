{#- The definition of a table, in the place of an existing one: its snapshots stay readable. -#}

{% macro paimon__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if temporary -%}
    {{ create_temporary_view(relation, compiled_code) }}
  {%- else -%}
    {%- if (config.get('contract') or {}).enforced -%}
      {{ get_assert_columns_equivalent(compiled_code) }}
      {%- do paimon_column_definitions() -%}
      {%- set compiled_code = get_select_subquery(compiled_code) -%}
    {%- endif -%}
    create or replace table {{ relation }}
    {{ paimon_table_clauses() }}
    as
    {{ compiled_code }}
  {%- endif -%}
{%- endmacro %}

{#- The columns of the contract; warns of constraints that Paimon does not have. -#}
{% macro paimon_column_definitions() %}
  {%- do adapter.render_raw_model_constraints(raw_constraints=model.get('constraints') or []) -%}
  {%- do return(adapter.render_raw_columns_constraints(raw_columns=model['columns']) | join(', ')) -%}
{% endmacro %}

{% macro paimon_table_clauses(further_options={}) -%}
  using {{ config.get('file_format') or 'paimon' }}
  {{ partition_cols(label='partitioned by') }}
  {{ location_clause() }}
  {{ comment_clause() }}
  {{ paimon_options_clause('tblproperties', further_options) }}
{%- endmacro %}

{% macro paimon_options_clause(word, further_options={}) -%}
  {%- set options = adapter.options_of(model) -%}
  {%- do options.update(further_options) -%}
  {%- if options -%}
    {{ word }} (
    {%- for name, value in options.items() -%}
      {{ adapter.literal(name) }} = {{ adapter.literal(value) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
    )
  {%- endif -%}
{%- endmacro %}

{% macro paimon__comment_clause() -%}
  {%- if config.persist_relation_docs() and model.description -%}
    comment {{ adapter.literal(model.description) }}
  {%- endif -%}
{%- endmacro %}

{#- Options of an existing table that its model has changed; of those that cannot change Paimon says so. -#}
{% macro paimon_update_options(relation) %}
  {%- set present = adapter.table_properties(relation) -%}
  {%- set changed = [] -%}
  {%- for name, value in adapter.options_of(model).items() if present.get(name) != value -%}
    {%- do changed.append(adapter.literal(name) ~ ' = ' ~ adapter.literal(value)) -%}
  {%- endfor -%}
  {%- if changed -%}
    {%- do run_query('alter table ' ~ relation ~ ' set tblproperties (' ~ changed | join(', ') ~ ')') -%}
  {%- endif -%}
{% endmacro %}
