select id, customer, amount, state, updated_at
from {{ ref('raw_orders') }}
where state <> 'cancelled'
