/**
 * A service and a plane for each test of a file, as most telemetry tests want them. Beside `enrolled.ts`, which child
 * processes load too: there are no hooks in them.
 */
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  register,
  setClock,
  startTelemetryPlane,
  startWire,
  type TestTelemetryPlane,
  type Wire,
} from './enrolled.ts';

export interface TestWorld {
  readonly service: TestService;
  readonly ada: Tenant;
  readonly wire: Wire;
  readonly plane: TestTelemetryPlane;
  /** Of the plane, where it is enrolled. */
  readonly dataPlaneId: string;
}

/**
 * A service for the tests of a file, whose clock begins at 09:00 on the 20th of October; for each of them a plane, which is
 * enrolled through a wire of its own unless it is to be bare. `take` is told of them before each test.
 */
export function eachWithPlane(
  take: (world: TestWorld) => void,
  { isBare = false }: { readonly isBare?: boolean } = {},
): void {
  let service: TestService;
  let ada: Tenant;
  let own: Pick<TestWorld, 'wire' | 'plane'>;
  beforeAll(async () => {
    setClock(Date.UTC(2026, 9, 20, 9));
    service = await startService();
    ada = await service.signUp('ada');
  }, 60_000);
  beforeEach(async () => {
    const wire = await startWire(service);
    const plane = await startTelemetryPlane();
    own = { wire, plane };
    const { dataPlaneId, token } = isBare ? { dataPlaneId: '', token: '' } : await register(ada);
    if (!isBare) await plane.enrol({ service: wire.origin, token });
    take({ service, ada, ...own, dataPlaneId });
  });
  afterEach(async () => {
    await own.plane.end();
    await own.wire.close();
  });
  afterAll(async () => {
    await service.end();
    vi.useRealTimers();
  });
}
