{{
  config(
    materialized='incremental',
    primary_key='id',
    unique_key='id',
    buckets=2,
    tag='run-%Y-%m-%d',
    tag_retained='30 days',
  )
}}

select id, customer, amount, state, updated_at
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where updated_at > (select max(updated_at) from {{ this }})
{% endif %}
