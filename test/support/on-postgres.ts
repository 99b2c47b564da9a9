/**
 * Runs before test files of the project `postgres`: what they start as a plane is a hosted service on PostgreSQL. Where
 * there is none, it is a plane once more.
 */
import { engines } from './hosted.ts';
import { setWorld } from './serving.ts';
import { startHosted } from './worlds.ts';

if (engines.includes('postgres')) setWorld((options) => startHosted(options, { engine: 'postgres' }));
