/** Finds an earlier export of the same request with a partial file. Tested by `test/cli/download/deliver.test.ts`. */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type { ExportInput, ExportJob } from '../../contract/exports.ts';
import { isOpen } from '../../contract/job-words.ts';
import { canonicalize } from '../../core/json/parse.ts';
import { begunExports } from './file.ts';

/** Returns the export to continue; null if none was begun, or if it has failed, was cancelled or has expired. */
export async function begunExport(
  client: Client,
  target: string,
  asked: ExportInput,
): Promise<ExportJob | null> {
  for (const exportId of begunExports(target)) {
    const found = await exportedAs(client, exportId);
    const isOver = found === null || (found.status !== 'completed' && !isOpen(found.status));
    if (!isOver && isSame(found, asked)) return found;
  }
  return null;
}

async function exportedAs(client: Client, exportId: string): Promise<ExportJob | null> {
  try {
    return (await client.getExport({ params: { exportId } })).body;
  } catch (failure) {
    if (failure instanceof GovApiError && failure.status === 404) return null;
    throw failure;
  }
}

function isSame(
  found: ExportJob,
  { resource, format, filters = {}, includeProof = false }: ExportInput,
): boolean {
  return (
    found.resource === resource &&
    found.format === format &&
    found.includeProof === includeProof &&
    canonicalize(found.filters) === canonicalize(filters)
  );
}
