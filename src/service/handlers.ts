/** Every handler by operation. A row of the table without one does not compile. */
import type { Handlers } from './call.ts';
import { events } from './events.ts';
import { graphs } from './graphs.ts';
import { health } from './health.ts';
import { jobs } from './jobs.ts';
import { log } from './logread.ts';
import { proofs } from './proofs.ts';

export const handlers: Handlers = { ...events, ...proofs, ...graphs, ...jobs, ...health, ...log };
