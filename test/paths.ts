/** Where tests find the official vectors, recorded runs and recorded cases; all are read in place and may be absent. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

export const projectRoot = fileURLToPath(new URL('..', import.meta.url));

const vectorsRoot = process.env['GOV_VECTORS'] ?? join(projectRoot, '../shared/vectors');
const dataRoot = process.env['GOV_DATA'] ?? join(projectRoot, '../shared/data');

const casesRoot = process.env['GOV_CASES'] ?? join(projectRoot, '../shared/cases');

export const hasVectors = existsSync(vectorsRoot);
export const hasData = existsSync(dataRoot);
export const hasCases = existsSync(casesRoot);

/** Path of a vector file; guard the suite with `describe.skipIf(!hasVectors)`. */
export const vectors = (name: string): string => join(vectorsRoot, name);

/** Path of a recorded case; guard the suite with `describe.skipIf(!hasCases)`. */
export const cases = (name: string): string => join(casesRoot, name);

/** Path of a recorded run; guard the suite with `describe.skipIf(!hasData)`. */
export const data = (name: string): string => join(dataRoot, name);
