{#-
  Write, audit, publish: a model with the configuration `branch` is built on that branch of its table, and all that reads
  the model in the same run, its tests above all, reads the branch. `publish_branch` makes the branch the table.
-#}

{#- Begin the branch at the newest snapshot of its table; one of an earlier run is dropped. -#}
{% macro paimon_start_branch(existing, target, sql) %}
  {%- set table = target.main -%}
  {%- if existing is none and paimon_has_not_null() -%}
    {%- do paimon_define_table(none, table) -%}
  {%- elif existing is none -%}
    {%- call statement('table') -%}
      {{ create_table_as(False, table, get_empty_subquery_sql(sql)) }}
    {%- endcall -%}
  {%- endif -%}
  {%- do run_query('alter table ' ~ table ~ ' drop branch if exists `' ~ target.branch ~ '`') -%}
  {%- set newest = run_query('select max(snapshot_id) from ' ~ table.system_table('snapshots'))[0][0] -%}
  {%- set from = ' as of version ' ~ newest if newest is not none else '' -%}
  {%- do run_query('alter table ' ~ table ~ ' create branch `' ~ target.branch ~ '`' ~ from) -%}
{% endmacro %}

{#- What is built outside of a branch must not read one: its rows would be published unaudited. -#}
{% macro paimon_refuse_branches_of_parents() %}
  {%- if not this.branch -%}
    {%- for parent in model.depends_on.nodes if parent in graph.nodes -%}
      {%- set settings = graph.nodes[parent].config -%}
      {%- if settings.get('branch') and settings.materialized in ['table', 'incremental'] -%}
        {%- do exceptions.raise_compiler_error(
            model.name ~ ' reads ' ~ graph.nodes[parent].name ~ " on the branch '" ~ settings.get('branch') ~ "', but is not built on a branch itself: "
            ~ 'set its branch, or leave it out of this run and build it after publish_branch.'
        ) -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{#- The operation that makes a branch the table, for all models that have the branch; the branch is dropped. -#}
{% macro publish_branch(branch) %}
  {%- for table in paimon_tables_with_branch(branch) -%}
    {%- set name = table.schema ~ '.' ~ table.identifier -%}
    {%- do run_query('call sys.fast_forward(' ~ adapter.literal(name) ~ ', ' ~ adapter.literal(branch) ~ ')') -%}
    {%- do run_query('alter table ' ~ table ~ ' drop branch `' ~ branch ~ '`') -%}
    {%- do log('Published ' ~ name ~ " from the branch '" ~ branch ~ "'.", info=True) -%}
  {%- endfor -%}
{% endmacro %}

{#- The operation that drops a branch of all models that have it. -#}
{% macro discard_branch(branch) %}
  {%- for table in paimon_tables_with_branch(branch) -%}
    {%- do run_query('alter table ' ~ table ~ ' drop branch `' ~ branch ~ '`') -%}
    {%- do log("Dropped the branch '" ~ branch ~ "' of " ~ table.schema ~ '.' ~ table.identifier ~ '.', info=True) -%}
  {%- endfor -%}
{% endmacro %}

{% macro paimon_tables_with_branch(branch) %}
  {%- set found = [] -%}
  {%- if execute -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized in ['table', 'incremental'] -%}
      {%- set table = adapter.get_relation(none, node.schema, node.alias) -%}
      {%- if table is not none and table.is_table -%}
        {%- for row in run_query('show branches ' ~ table) if row[0] == branch -%}
          {%- do found.append(table) -%}
        {%- endfor -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
  {%- if execute and not found -%}
    {%- do exceptions.raise_compiler_error("No table of the project has a branch '" ~ branch ~ "'.") -%}
  {%- endif -%}
  {%- do return(found) -%}
{% endmacro %}
