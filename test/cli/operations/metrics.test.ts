import { describe, expect, it } from 'vitest';
import { between, quantile, readMetrics } from '../../../src/cli/operations/metrics.ts';

const text = `# HELP gov_write_queue Requests that wait for a commit
# TYPE gov_write_queue gauge
gov_write_queue 3
gov_log_leaves 42
gov_requests_total{operation="createEvents",status="201"} 9
gov_requests_total{operation="createEvents",status="429"} 2
gov_requests_total{operation="getHealth",status="503"} 7
gov_request_seconds_bucket{operation="createEvents",le="0.005"} 8
gov_request_seconds_bucket{operation="createEvents",le="0.01"} 9
gov_request_seconds_bucket{operation="createEvents",le="+Inf"} 10
gov_request_seconds_bucket{operation="createEvent",le="0.005"} 1
gov_request_seconds_bucket{operation="createEvent",le="0.01"} 1
gov_request_seconds_bucket{operation="createEvent",le="+Inf"} 1
gov_request_seconds_bucket{operation="getHealth",le="0.005"} 99
nonsense
`;

describe('the metrics of a plane', () => {
  it('the metrics of ingest are those of operations that record events', () => {
    const { queue, leaves, ingestFailed, ingestBySeconds } = readMetrics(text);
    expect({ queue, leaves, ingestFailed }).toEqual({ queue: 3, leaves: 42, ingestFailed: 2 });
    expect([...ingestBySeconds]).toEqual([
      [0.005, 9],
      [0.01, 1],
      [Infinity, 1],
    ]);
    expect(readMetrics('')).toMatchObject({ queue: null, leaves: null, ingestFailed: 0 });
  });

  it('a quantile is the upper bound of its bucket, and unknown without requests', () => {
    const counts = readMetrics(text).ingestBySeconds;
    expect([quantile(counts, 0.5), quantile(counts, 0.9), quantile(counts, 0.99)]).toEqual([
      0.005,
      0.01,
      Infinity,
    ]);
    expect(quantile(new Map(), 0.99)).toBeNull();
    expect(quantile(between(counts, counts), 0.99)).toBeNull();
  });

  it('requests between two readings are the difference, and after a restart the later reading', () => {
    const earlier = new Map([[1, 5]]);
    expect([...between(earlier, new Map([[1, 7]]))]).toEqual([[1, 2]]);
    expect([...between(earlier, new Map([[1, 3]]))]).toEqual([[1, 3]]);
  });
});
