-- The orders that wait for an invoice. There are more columns in a real table, and no more than these matter here.
CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, cents bigint NOT NULL, state text NOT NULL DEFAULT 'waiting');

-- What the replicas write. Nothing but the fence keeps them from writing two invoices for one order.
CREATE TABLE invoices (order_id bigint NOT NULL, cents bigint NOT NULL, replica text NOT NULL, epoch bigint NOT NULL);

-- The newest epoch that has begun to work on each partition.
CREATE TABLE fences (partition int PRIMARY KEY, epoch bigint NOT NULL);

-- Finds the waiting orders of a partition. partition_of() is in docs/partitions.md.
CREATE INDEX waiting ON orders (partition_of(customer, 4)) WHERE state = 'waiting';
