import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

interface SecretProps {
  readonly title: string;
  readonly secret: string;
  readonly close: () => void;
}

/** A secret that the API returns only once. The page keeps it until the dialog closes. */
export function SecretDialog({ title, secret, close }: SecretProps) {
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
