{{ config(materialized='table') }}

select customer, cast(sum(amount) as decimal(20, 2)) as amount, count(*) as orders
from {{ ref('orders') }}
where state = 'paid'
group by customer
