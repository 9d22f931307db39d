{% materialization table, adapter='paimon' %}
  {%- set target = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks) }}
  {% do paimon_refuse_branches_of_parents() %}
  {% do paimon_build_table(load_cached_relation(this), target, compiled_code) %}
  {% do paimon_finish(target) %}
  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{% endmaterialization %}


{#-
  Fill a table anew, in one snapshot. A new definition takes the place of the old one, and old snapshots stay readable.

  CREATE TABLE AS has no NOT NULL. With a contract that has, the table is defined first; while the contract is the same,
  only its rows are replaced.
-#}
{% macro paimon_build_table(existing, target, sql) %}
  {%- set existing = paimon_drop_if_no_table(existing) -%}
  {%- set has_contract = (config.get('contract') or {}).enforced -%}
  {%- if has_contract and (target.branch or paimon_has_not_null()) -%}
    {%- do get_assert_columns_equivalent(sql) -%}
  {%- endif -%}
  {%- if target.branch -%}
    {%- do paimon_start_branch(existing, target, sql) -%}
    {%- set view = paimon_view_of(target, sql) -%}
    {%- do process_schema_changes('sync_all_columns', view, target) -%}
    {%- do paimon_overwrite_mode('static') -%}
    {%- call statement('main') -%}
      {{ paimon_overwrite(target, adapter.get_columns_in_relation(target), 'select * from ' ~ view) }}
    {%- endcall -%}
  {%- elif paimon_has_not_null() -%}
    {%- do paimon_define_table(existing, target) -%}
    {%- do paimon_overwrite_mode('static') -%}
    {%- call statement('main') -%}
      {{ paimon_overwrite(target, adapter.get_columns_in_relation(target), sql) }}
    {%- endcall -%}
  {%- else -%}
    {%- call statement('main') -%}
      {{ create_table_as(False, target, sql) }}
    {%- endcall -%}
  {%- endif -%}
{% endmacro %}

{% macro paimon_has_not_null() %}
  {%- do return((config.get('contract') or {}).enforced and adapter.not_null_columns_of(model)) -%}
{% endmacro %}

{#- Define the table of a contract, unless it is defined so already. -#}
{% macro paimon_define_table(existing, target) %}
  {%- set definition = paimon_column_definitions() ~ paimon_table_clauses() -%}
  {%- set contract = {'dbt.contract': local_md5(definition)} -%}
  {%- set present = adapter.table_properties(target) if existing else {} -%}
  {%- if present.get('dbt.contract') != contract['dbt.contract'] -%}
    {%- call statement('definition') -%}
      create or replace table {{ target }} ({{ paimon_column_definitions() }}) {{ paimon_table_clauses(contract) }}
    {%- endcall -%}
  {%- endif -%}
{% endmacro %}

{% macro paimon_drop_if_no_table(existing) %}
  {%- if existing is none or existing.is_table -%}
    {%- do return(existing) -%}
  {%- endif -%}
  {%- do adapter.drop_relation(existing) -%}
  {%- do return(none) -%}
{% endmacro %}

{#- Comments, and the tag of the run. -#}
{% macro paimon_finish(target) %}
  {% do apply_grants(target, config.get('grants'), should_revoke=False) %}
  {% do persist_docs(target, model) %}
  {% do paimon_tag(target) %}
{% endmacro %}

{#- A temporary view of the model's query. -#}
{% macro paimon_view_of(target, sql) %}
  {%- set view = make_temp_relation(target) -%}
  {%- call statement('view') -%}
    {{ create_table_as(True, view, sql) }}
  {%- endcall -%}
  {%- do return(view) -%}
{% endmacro %}

{% macro paimon_overwrite_mode(mode) %}
  {%- do run_query('set spark.sql.sources.partitionOverwriteMode = ' ~ mode) -%}
{% endmacro %}

{% macro paimon_overwrite(target, columns, sql) -%}
  {%- set names = get_quoted_csv(columns | map(attribute='name')) -%}
  insert overwrite {{ target }} ({{ names }}) select {{ names }} from ({{ sql }})
{%- endmacro %}
