import type { ComponentChildren } from 'preact';
import { useAction } from './action.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorBox } from './error-box.tsx';

interface ConfirmProps {
  readonly title: string;
  /** What happens, and what cannot be undone. */
  readonly children: ComponentChildren;
  /** The verb on the button: `Revoke the key`. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

/** A dialog that does one thing: a form with its button, and the error if the API refuses it. */
export function ConfirmDialog({ title, children, verb, isDangerous = false, work, close }: ConfirmProps) {
  const { isBusy, error, run } = useAction();
  return (
    <Dialog title={title} close={close}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run(work);
        }}
      >
        {children}
        {error !== null && <ErrorBox error={error} />}
        <div class="actions">
          <Button type="submit" kind={isDangerous ? 'danger' : 'main'} isBusy={isBusy}>
            {verb}
          </Button>
          <Button onClick={close}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
