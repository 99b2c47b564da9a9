/** Dialogs that do one thing. Tested by `test/console/fields.test.ts` and `test/console/lists.test.ts`. */
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { FieldError } from '../../contract/problems.ts';
import { GovApiError } from '../../client/errors.ts';
import { useAction } from './action.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorBox } from './error-box.tsx';
import { FieldErrors, type FieldRefusals } from './field.tsx';

interface ConfirmProps {
  readonly title: string;
  /** What happens, and what cannot be undone. */
  readonly children: ComponentChildren;
  /** The verb on the button: `Revoke the key`. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly isWide?: boolean;
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  readonly close: () => void;
  /** Called after the work; absent where the work itself closes the dialog. */
  readonly done?: () => void;
}

/** A dialog that does one thing: a form with its button, and the error if the API refuses it. */
export function ConfirmDialog({ children, verb, isDangerous = false, work, done, ...dialog }: ConfirmProps) {
  const { isBusy, error, run } = useAction(done);
  const form = useRef<HTMLFormElement>(null);
  const { refused, forget } = useRefused(error);
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
        <FieldErrors.Provider value={{ refused, forget }}>{children}</FieldErrors.Provider>
        {refused.length > 0 && refused.every(hasField) ? (
          <p class="bad-text" role="alert">
            Nothing was saved. Correct the marked field and try again.
          </p>
        ) : (
          error !== null && (refused.length > 0 || !isAboutFields(error)) && <ErrorBox error={error} />
        )}
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

const isAboutFields = (error: unknown): error is GovApiError =>
  error instanceof GovApiError && error.errors.length > 0;

interface FormState {
  /** Of the last try. */
  readonly error: unknown;
  readonly names: readonly string[];
}

/** What the last try refused, without the fields that have changed since. */
function useRefused(error: unknown): FieldRefusals {
  const [changed, setChanged] = useState<FormState>({ error, names: [] });
  const latest = useRef(error);
  latest.current = error;
  const namesOf = ({ error: last, names }: FormState): readonly string[] =>
    last === latest.current ? names : [];
  const forget = useCallback(
    (name: string) => setChanged((last) => ({ error: latest.current, names: [...namesOf(last), name] })),
    [],
  );
  const isChanged = ({ pointer }: FieldError): boolean => namesOf(changed).includes(pointer.slice(1));
  return { refused: isAboutFields(error) ? error.errors.filter((each) => !isChanged(each)) : [], forget };
}
