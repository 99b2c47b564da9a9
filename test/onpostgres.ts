/** Runs before test files of the project `postgres`: what they start as a plane is a hosted service on PostgreSQL. */
import { setWorld } from './serving.ts';
import { startHosted } from './worlds.ts';

setWorld((options) => startHosted(options, { engine: 'postgres' }));
