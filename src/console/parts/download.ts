/** Saves a file of the API with the browser. */
import { projectHeader } from '../../contract/auth-words.ts';
import { apiBase } from '../browser/api.ts';
import type { Session } from '../browser/session.tsx';

interface DownloadRequest {
  /** Below the base path of the API. */
  readonly path: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** Rejects with what the API answers instead of a file. */
export async function download(
  { environment, identity }: Session,
  { path, name, signal }: DownloadRequest,
): Promise<void> {
  const response = await fetch(`${apiBase(environment)}${path}`, {
    credentials: 'same-origin',
    headers: identity.type === 'person' ? { [projectHeader]: identity.projectId } : {},
    signal,
  });
  if (!response.ok)
    throw new Error(`expected the file ${name}, got status ${response.status}: ${await response.text()}`);
  save(await response.blob(), name);
}

/** Saves a file that is here. */
export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // the browser has taken the content by then
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
