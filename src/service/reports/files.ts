/**
 * Writes the artifacts of one report into the storage of exports, one after the other. A crash leaves bytes without a
 * name, which the next attempt or the removal deletes. Proven by `test/service/reports/worker.test.ts`.
 */
import { createHash, type Hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Services } from '../port/services.ts';
import type { ArtifactWriter } from '../hosting/artifacts.ts';
import type { MadeArtifact, StoredReport } from './stored.ts';

interface OpenFile {
  readonly writer: ArtifactWriter;
  readonly hash: Hash;
  sizeBytes: number;
}

/** The ids of all artifacts by the name of their file. */
const artifactIds = ({ artifacts, preview }: StoredReport): ReadonlyMap<string, string> =>
  new Map([
    ...artifacts.map(({ format, artifactId }) => [format, artifactId] as const),
    ['preview', preview.artifactId],
  ]);

export class ReportFiles {
  readonly #services: Services;
  readonly #projectId: string;
  readonly #ids: ReadonlyMap<string, string>;
  readonly #files = new Map<string, OpenFile>();
  #current: OpenFile | null = null;

  constructor(services: Services, projectId: string, stored: StoredReport) {
    this.#services = services;
    this.#projectId = projectId;
    this.#ids = artifactIds(stored);
  }

  /** Starts the next file. */
  async open(name: string): Promise<void> {
    const exportId = this.#ids.get(name);
    if (exportId === undefined || this.#files.has(name))
      throw new Error(`expected a new file of the report, got ${name}`);
    const { artifacts } = this.#services.exports;
    const writer = await artifacts.create({ projectId: this.#projectId, exportId });
    this.#current = { writer, hash: createHash('sha256'), sizeBytes: 0 };
    this.#files.set(name, this.#current);
  }

  /** STORAGE_FULL where recording would have too little room. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#current === null) throw new Error('expected an open file, got none');
    const free = await this.#services.exports.artifacts.freeBytes();
    if (free !== null && free - bytes.length < limits.exportSpareBytes) {
      throw new GovError(
        'STORAGE_FULL',
        `the disk has no room for the report: less than ${limits.exportSpareBytes} bytes would be left, which ` +
          'recording may need; free some, then create the report again',
      );
    }
    this.#current.hash.update(bytes);
    this.#current.sizeBytes += bytes.length;
    await this.#current.writer.write(bytes);
  }

  /** Makes all files durable. */
  async finish(): Promise<ReadonlyMap<string, MadeArtifact>> {
    const made = new Map<string, MadeArtifact>();
    for (const name of this.#ids.keys()) {
      const file = this.#files.get(name);
      if (file === undefined) throw new Error(`expected the file ${name} of the report, got none`);
      const { writer, hash, sizeBytes } = file;
      const artifact = await writer.finish();
      made.set(name, { artifact, sizeBytes, sha256: hash.digest('hex') });
    }
    return made;
  }

  /** Deletes what this attempt wrote, and nothing of another attempt. */
  async abort(): Promise<void> {
    for (const { writer } of this.#files.values()) {
      await writer.abort().catch((cause: unknown) => {
        this.#services.log.warn({ err: cause }, 'parts of a report could not be removed yet');
      });
    }
  }
}

/** Removes all artifacts of a report. */
export async function removeArtifacts(
  { exports }: Pick<Services, 'exports'>,
  projectId: string,
  stored: StoredReport,
): Promise<void> {
  for (const exportId of artifactIds(stored).values())
    await exports.artifacts.remove({ projectId, exportId });
}
