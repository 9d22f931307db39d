{#- A seed that exists keeps its history: its rows are replaced in one snapshot, up to the batch size of dbt. -#}

{% macro paimon__create_csv_table(model, agate_table) %}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do columns.append(adapter.quote(name) ~ ' ' ~ paimon_seed_type(model, agate_table, name, loop.index0)) -%}
  {%- endfor -%}
  {%- set sql = 'create or replace table ' ~ this.render() ~ ' (' ~ columns | join(', ') ~ ') ' ~ paimon_table_clauses() -%}
  {%- call statement('_') -%}{{ sql }}{%- endcall -%}
  {{ return(sql) }}
{% endmacro %}

{% macro paimon__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {%- if full_refresh -%}
    {{ return(create_csv_table(model, agate_table)) }}
  {%- elif agate_table.rows | length == 0 -%}
    {%- do adapter.truncate_relation(old_relation) -%}
  {%- endif -%}
  {{ return('') }}
{% endmacro %}

{% macro paimon__load_csv_rows(model, agate_table) %}
  {%- set casts, placeholders, names, statements = [], [], [], [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do placeholders.append('c' ~ loop.index) -%}
    {%- do names.append(adapter.quote(name)) -%}
    {%- do casts.append('cast(c' ~ loop.index ~ ' as ' ~ paimon_seed_type(model, agate_table, name, loop.index0) ~ ')') -%}
  {%- endfor -%}
  {%- do paimon_overwrite_mode('static') -%}
  {%- for rows in agate_table.rows | batch(get_batch_size()) -%}
    {%- set values = [] -%}
    {%- for row in rows -%}
      {%- set literals = [] -%}
      {%- for value in row -%}{%- do literals.append(adapter.literal(value)) -%}{%- endfor -%}
      {%- do values.append('(' ~ literals | join(', ') ~ ')') -%}
    {%- endfor -%}
    {%- set sql -%}
      insert {{ 'overwrite' if loop.first else 'into' }} {{ this.render() }} ({{ names | join(', ') }})
      select {{ casts | join(', ') }} from values {{ values | join(', ') }} as rows({{ placeholders | join(', ') }})
    {%- endset -%}
    {%- do adapter.add_query(sql, abridge_sql_log=True) -%}
    {%- if loop.first -%}{%- do statements.append(sql) -%}{%- endif -%}
  {%- endfor -%}
  {{ return(statements[0]) }}
{% endmacro %}

{% macro paimon_seed_type(model, agate_table, name, index) %}
  {%- do return(model['config'].get('column_types', {}).get(name, adapter.convert_type(agate_table, index))) -%}
{% endmacro %}
