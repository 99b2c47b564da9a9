import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import { useAction } from './action.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorBox } from './error-box.tsx';
import { FieldErrors } from './field.tsx';

interface ConfirmProps {
  readonly title: string;
  /** What happens, and what cannot be undone. */
  readonly children: ComponentChildren;
  /** The verb on the button: `Revoke the key`. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly isWide?: boolean;
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

/** A dialog that does one thing: a form with its button, and the error if the API refuses it. */
export function ConfirmDialog({ children, verb, isDangerous = false, work, ...dialog }: ConfirmProps) {
  const { isBusy, error, run } = useAction();
  const form = useRef<HTMLFormElement>(null);
  const refused = error instanceof GovApiError ? error.errors : [];
  const hasField = ({ pointer }: { readonly pointer: string }): boolean =>
    (form.current?.elements.namedItem(pointer.slice(1)) ?? null) !== null;
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [error]);
  return (
    <Dialog {...dialog}>
      <form
        ref={form}
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run(work);
        }}
      >
        <FieldErrors.Provider value={refused}>{children}</FieldErrors.Provider>
        {error !== null &&
          (refused.length > 0 && refused.every(hasField) ? (
            <p class="bad-text" role="alert">
              Nothing was saved. Correct the marked field and try again.
            </p>
          ) : (
            <ErrorBox error={error} />
          ))}
        <div class="actions">
          <Button type="submit" kind={isDangerous ? 'danger' : 'main'} isBusy={isBusy}>
            {verb}
          </Button>
          <Button onClick={dialog.close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}

interface DeleteProps {
  readonly title: string;
  /** What stays, and what is lost. */
  readonly children: ComponentChildren;
  readonly remove: (signal: AbortSignal) => Promise<unknown>;
  /** Called after the dialog has closed. */
  readonly deleted: () => void;
  readonly close: () => void;
}

/** Asks before something is deleted. */
export const DeleteDialog = ({ remove, deleted, ...dialog }: DeleteProps) => (
  <ConfirmDialog
    {...dialog}
    verb="Delete"
    isDangerous
    work={async (signal) => {
      await remove(signal);
      dialog.close();
      deleted();
    }}
  />
);
