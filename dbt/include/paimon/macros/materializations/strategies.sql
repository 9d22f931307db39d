{#- How an incremental model changes its table: each strategy is one statement, hence one snapshot. -#}

{% macro paimon__get_incremental_default_sql(arg_dict) %}
  {%- if arg_dict['unique_key'] -%}
    {% do return(get_incremental_merge_sql(arg_dict)) %}
  {%- endif -%}
  {% do return(get_incremental_append_sql(arg_dict)) %}
{% endmacro %}


{% macro paimon__get_incremental_append_sql(arg_dict) -%}
  {%- set names = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  insert into {{ arg_dict['target_relation'] }} ({{ names }}) select {{ names }} from {{ arg_dict['temp_relation'] }}
{%- endmacro %}


{#- With `partition_by` the partitions of the new rows are replaced, without it the whole table. -#}
{% macro paimon__get_incremental_insert_overwrite_sql(arg_dict) -%}
  {%- do paimon_overwrite_mode('dynamic' if config.get('partition_by') else 'static') -%}
  {{ paimon_overwrite(arg_dict['target_relation'], arg_dict['dest_columns'], 'select * from ' ~ arg_dict['temp_relation']) }}
{%- endmacro %}


{% macro paimon__get_incremental_microbatch_sql(arg_dict) -%}
  {%- if not config.get('partition_by') -%}
    {%- do exceptions.raise_compiler_error(
        "The strategy microbatch replaces partitions: set partition_by to a column of the grain '" ~ config.get('batch_size') ~ "'."
    ) -%}
  {%- endif -%}
  {{ paimon__get_incremental_insert_overwrite_sql(arg_dict) }}
{%- endmacro %}


{#-
  INSERT is an upsert if `unique_key` is the primary key: the table's merge engine merges old and new rows. Otherwise, and
  with configurations of MERGE, it is a MERGE INTO.
-#}
{% macro paimon__get_incremental_merge_sql(arg_dict) -%}
  {%- set of_merge = config.get('merge_update_columns') or config.get('merge_exclude_columns') or arg_dict['incremental_predicates'] -%}
  {%- if not of_merge and paimon_is_primary_key(arg_dict) -%}
    {{ paimon__get_incremental_append_sql(arg_dict) }}
  {%- else -%}
    {{ get_merge_sql(arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['unique_key'], arg_dict['dest_columns'], arg_dict['incremental_predicates']) }}
  {%- endif -%}
{%- endmacro %}

{% macro paimon_is_primary_key(arg_dict) %}
  {%- set key = adapter.table_properties(arg_dict['target_relation']).get('primary-key') -%}
  {%- do return(key and arg_dict['unique_key'] and adapter.same_names(key, arg_dict['unique_key'])) -%}
{% endmacro %}

{% macro paimon__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set keys = [unique_key] if unique_key and unique_key is string else (unique_key or []) -%}
  {%- set conditions = [] + (incremental_predicates or []) -%}
  {%- for key in keys -%}
    {%- do conditions.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- set chosen = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns) -%}
  {%- set updates = [] -%}
  {%- for name in chosen or dest_columns | map(attribute='quoted') if not adapter.is_named(name, keys) -%}
    {%- do updates.append(name ~ ' = DBT_INTERNAL_SOURCE.' ~ name) -%}
  {%- endfor -%}
  {%- set names = dest_columns | map(attribute='quoted') | list -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ '(' ~ conditions | join(') and (') ~ ')' if keys else 'false' }}
  {% if keys and updates -%}
  when matched then update set {{ updates | join(', ') }}
  {% endif -%}
  when not matched then insert ({{ names | join(', ') }})
  values (DBT_INTERNAL_SOURCE.{{ names | join(', DBT_INTERNAL_SOURCE.') }})
{%- endmacro %}


{#-
  Rows whose key is among the new rows are deleted, and the new rows inserted. By the primary key an INSERT does both;
  otherwise one MERGE INTO does, whose source has the keys to delete beside the rows to insert. Its columns have names of
  their own, so that predicates need not qualify those of the table.
-#}
{% macro paimon__get_incremental_delete_insert_sql(arg_dict) -%}
  {%- set target, unique_key, columns = arg_dict['target_relation'], arg_dict['unique_key'], arg_dict['dest_columns'] -%}
  {%- set keys = [unique_key] if unique_key and unique_key is string else (unique_key or []) -%}
  {%- set predicates = arg_dict['incremental_predicates'] or [] -%}
  {%- set present = adapter.table_properties(target) -%}
  {%- set primary_key, engine = present.get('primary-key'), present.get('merge-engine', 'deduplicate') -%}
  {%- if primary_key and keys and (engine != 'deduplicate' or predicates or not adapter.same_names(primary_key, keys)) -%}
    {%- do exceptions.raise_compiler_error(
        'delete+insert into ' ~ target ~ ', which has the primary key (' ~ primary_key ~ ") and the merge engine '" ~ engine
        ~ "', needs the primary key as unique_key, the merge engine 'deduplicate' and no predicates. Use the strategy merge."
    ) -%}
  {%- endif -%}
  {%- if primary_key or not keys -%}
    {{ paimon__get_incremental_append_sql(arg_dict) }}
  {%- else -%}
    {%- set inserted, deleted, values, conditions = [], [], [], ["DBT_INTERNAL_SOURCE.dbt_action = 'delete'"] -%}
    {%- for key in keys -%}
      {%- do conditions.append('DBT_INTERNAL_SOURCE.dbt_key_' ~ loop.index ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
    {%- endfor -%}
    {%- for column in columns -%}
      {%- do inserted.append(column.quoted ~ ' as dbt_' ~ loop.index) -%}
      {%- do deleted.append('cast(null as ' ~ column.data_type ~ ')') -%}
      {%- do values.append('DBT_INTERNAL_SOURCE.dbt_' ~ loop.index) -%}
    {%- endfor -%}
    merge into {{ target }} as DBT_INTERNAL_DEST
    using (
      select 'insert' as dbt_action, {{ inserted | join(', ') }}
      {%- for key in keys %}, {{ key }} as dbt_key_{{ loop.index }}{% endfor %}
      from {{ arg_dict['temp_relation'] }}
      union all
      select 'delete', {{ deleted | join(', ') }}, {{ keys | join(', ') }}
      from (select distinct {{ keys | join(', ') }} from {{ arg_dict['temp_relation'] }})
    ) as DBT_INTERNAL_SOURCE
    on {{ conditions | join(' and ') }}
    when matched {% if predicates %}and ({{ predicates | join(') and (') }}) {% endif %}then delete
    when not matched and DBT_INTERNAL_SOURCE.dbt_action = 'insert' then insert ({{ columns | map(attribute='quoted') | join(', ') }})
    values ({{ values | join(', ') }})
  {%- endif -%}
{%- endmacro %}
