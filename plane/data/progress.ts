/** The progress of a backup or a restore. Proven by `test/plane/data/progress.test.ts`. */

export interface CopyProgress {
  /** `copying` and `hashing` count bytes, `checking` counts leaves. */
  readonly step: 'copying' | 'hashing' | 'checking';
  readonly done: number;
  /** About the end: databases grow and artifacts disappear during a backup. */
  readonly of: number;
}

/** May throw to stop the work: then nothing is left in the target. */
export type OnProgress = (progress: CopyProgress) => void;

/** Returns a function that adds bytes to a step and reports the sum. */
export function byteCounter(
  step: CopyProgress['step'],
  of: number,
  onProgress: OnProgress | undefined,
): (bytes: number) => void {
  let done = 0;
  return (bytes) => {
    done += bytes;
    onProgress?.({ step, done, of });
  };
}
