/** The open dialog of a page, and the secret that it made. Tested by `test/console/lists.test.ts`. */
import type { ComponentType, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

export interface DialogEnds {
  readonly close: () => void;
  /** Closes the dialog, reads the page again, and shows the secret, which nobody can read again. */
  readonly done: (secret?: string) => void;
}

export interface Dialogs {
  readonly ask: (dialog: ComponentType<DialogEnds>) => void;
  /** Belongs at the end of the page. */
  readonly dialogs: VNode;
}

/** `changed`: called after a dialog has done its work. */
export function useDialogs(changed: () => void, secretTitle = ''): Dialogs {
  const [Asking, setAsking] = useState<ComponentType<DialogEnds> | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const close = (): void => setAsking(null);
  const done = (made: string | null = null): void => {
    close();
    setSecret(made);
    changed();
  };
  const dialogs = (
    <>
      {Asking !== null && <Asking close={close} done={done} />}
      {secret !== null && <SecretDialog title={secretTitle} secret={secret} close={() => setSecret(null)} />}
    </>
  );
  return { ask: (dialog) => setAsking(() => dialog), dialogs };
}

interface SecretProps {
  readonly title: string;
  readonly secret: string;
  readonly close: () => void;
}

/** A secret that the API returns only once. The page keeps it until the dialog closes. */
function SecretDialog({ title, secret, close }: SecretProps) {
  const [copied, setCopied] = useState('');
  const copy = (): void => {
    navigator.clipboard.writeText(secret).then(
      () => setCopied('Copied.'),
      () => setCopied('The browser did not allow it: select the text and copy it.'),
    );
  };
  return (
    <Dialog title={title} close={close}>
      <div class="stack">
        <p>Copy it now. Nobody can read it again, and it cannot be restored.</p>
        <pre class="code secret" tabIndex={0}>
          {secret}
        </pre>
        <div class="actions">
          <Button kind="main" onClick={copy}>
            Copy
          </Button>
          <Button onClick={close}>Close</Button>
          <span role="status" class="quiet">
            {copied}
          </span>
        </div>
      </div>
    </Dialog>
  );
}
