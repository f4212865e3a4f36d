-- Six questions about MPI jobs, for DuckDB and Spark SQL. The tables are those
-- that `mpitrace export --tables` writes; docs/schema.md has their columns.
-- Several runs may be in them: each answer has a row or more for each run.

-- name: bytes_by_node
-- Which nodes send how much to which?
select p.run, s.host as from_node, r.host as to_node,
       cast(sum(p.messages) as bigint) as messages, cast(sum(p.bytes) as bigint) as bytes
from profile p
join ranks s on s.run = p.run and s.rank = p.rank
join ranks r on r.run = p.run and r.rank = p.peer
where p.class = 'p2p' and p.direction = 'send'
group by p.run, s.host, r.host
order by p.run, bytes desc, from_node, to_node;

-- name: top_call_sites
-- Where is the time spent?
select run, callsite, call,
       cast(sum(calls) as bigint) as calls, cast(sum(time_ns) as bigint) as time_ns,
       cast(sum(messages) as bigint) as messages, cast(sum(bytes) as bigint) as bytes
from profile
where class <> 'internal'
group by run, callsite, call, address
order by run, time_ns desc, callsite, call;

-- name: late_senders
-- Which calls waited for a message, because its sender was late? A message is
-- sent and received under the same number (seq) among those of its
-- communicator, source, destination and tag. A call that received several
-- messages waited for the one whose send started last. As in mpitrace analyze,
-- it waited until then, or until it returned.
with received as (
  select r.run, r.rank, r.call_event, r.comm, s.rank as peer, s.start_ns as sent_ns, s.callsite as peer_callsite,
         row_number() over (partition by r.run, r.rank, r.call_event order by s.start_ns desc, s.rank) as latest
  from events r
  join events s
    on s.run = r.run and s.comm = r.comm and s.rank = r.peer and s.peer = r.rank and s.tag = r.tag and s.seq = r.seq
  where r.class = 'p2p' and r.direction = 'recv' and r.seq > 0
    and s.class = 'p2p' and s.direction = 'send' and s.seq > 0
),
late as (
  select m.run, m.rank, m.peer, c.call, c.callsite, m.peer_callsite, m.comm,
         least(m.sent_ns, c.start_ns + c.duration_ns) - c.start_ns as wait_ns
  from received m
  join events c on c.run = m.run and c.rank = m.rank and c.event = m.call_event
  where m.latest = 1 and c.action = 'call' and c.call not like 'Test%' -- which never wait
)
select run, rank, peer, call, callsite, peer_callsite, comm,
       count(*) as waits, cast(sum(wait_ns) as bigint) as wait_ns, max(wait_ns) as longest_ns
from late
where wait_ns > 0
group by run, rank, peer, call, callsite, peer_callsite, comm
order by run, wait_ns desc, rank, peer, call, callsite, peer_callsite, comm;

-- name: imbalance
-- At which call sites do ranks spend different times?
with by_rank as (
  select run, callsite, call, address, rank, cast(sum(time_ns) as bigint) as time_ns
  from profile
  where class <> 'internal'
  group by run, callsite, call, address, rank
)
select run, callsite, call, count(*) as ranks, min(time_ns) as least_ns, max(time_ns) as most_ns,
       avg(time_ns) as mean_ns, max(time_ns) - avg(time_ns) as above_mean_ns
from by_rank
group by run, callsite, call, address
order by run, above_mean_ns desc, callsite, call;

-- name: message_sizes
-- How large are messages in each phase of a run? The bytes of a message of
-- size class k are below 2^k.
select run, slice, call, cast(size_class as int) as size_class,
       cast(sum(messages) as bigint) as messages, cast(sum(bytes) as bigint) as bytes
from profile
where messages > 0 and direction in ('send', 'write')
group by run, slice, call, size_class
order by run, slice, call, size_class;

-- name: growth
-- How does the time per rank of each call site grow with the number of ranks?
-- The exponent is 0 if it is constant, 1 if it is proportional. The calls that
-- start and end MPI are left out, as in mpitrace history.
with sizes as (
  select run, count(*) as ranks from ranks where rank >= 0 group by run
),
times as (
  select p.run, s.ranks, p.callsite, p.call, cast(sum(p.time_ns) as double) / s.ranks as time_ns
  from profile p
  join sizes s on s.run = p.run
  where p.class <> 'internal' and p.call not in ('Init', 'Init_thread', 'Finalize')
  group by p.run, s.ranks, p.callsite, p.call
)
select callsite, call, count(*) as runs, min(ranks) as fewest_ranks, max(ranks) as most_ranks,
       regr_slope(ln(time_ns), ln(ranks)) as exponent
from times
where time_ns > 0
group by callsite, call
having min(ranks) < max(ranks)
order by exponent desc, callsite, call;
