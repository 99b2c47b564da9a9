/**
 * What a recorder does when its process ends by itself: `beforeExit` may wait for the service, and `exit` may only write.
 * The build for browsers and edge runtimes uses `web/at-exit.ts`. Tested by `test/client/recorder.test.ts` with processes.
 */

/** The ends of a process. Neither may throw. */
export interface ExitHandlers {
  /** Called when nothing else keeps the process alive. */
  readonly idle: () => Promise<unknown>;
  /** Called at the very end, also after `process.exit()`; a signal that kills does not call it. */
  readonly exit: () => void;
}

const endings = new Set<ExitHandlers>();
let isListening = false;

/** Calls these at the end of the process, until the returned function is called. */
export function atExit(ending: ExitHandlers): () => void {
  if (!isListening) {
    isListening = true;
    process.on('beforeExit', () => void Promise.all([...endings].map((each) => each.idle())));
    process.on('exit', () => {
      for (const each of endings) each.exit();
    });
  }
  endings.add(ending);
  return () => void endings.delete(ending);
}
