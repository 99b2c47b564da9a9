/** The hosted service on either engine: it starts, serves both base paths, ends, and starts again. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type TestService } from '../hosted.ts';

describe.each(engines)('a service on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
  }, 60_000);
  afterAll(() => service.end());

  it('serves both base paths', async () => {
    for (const base of ['/api/v1', '/sandbox/api/v1']) {
      const { status } = await service.call('GET', `${service.origin}${base}/health/ready`);
      expect([base, status]).toEqual([base, 200]);
    }
  });
});
