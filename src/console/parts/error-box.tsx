import { useEffect } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import { reportLoss } from '../browser/connection.tsx';
import { Button } from './button.tsx';
import { RemoteLine } from './remote-text.tsx';

interface ErrorBoxProps {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

/** An error of a call, as the API reports it. A session that has ended leads back to the sign-in page. */
export function ErrorBox({ error, retry }: ErrorBoxProps) {
  useEffect(() => {
    if (error instanceof GovApiError && error.status === 401) dispatchEvent(new Event('gov-session-ended'));
    reportLoss(error);
  }, [error]);
  const isApi = error instanceof GovApiError;
  return (
    <div class="error-box" role="alert">
      <p>
        <RemoteLine text={error instanceof Error ? error.message : 'Something failed that should not.'} />
      </p>
      {isApi && error.errors.length > 0 && (
        <ul>
          {error.errors.map(({ pointer, detail }) => (
            <li key={pointer}>
              <code>{pointer}</code> <RemoteLine text={detail} />
            </li>
          ))}
        </ul>
      )}
      {isApi && (
        <p class="quiet">
          {error.code}
          {error.requestId !== undefined && <> · request {error.requestId}</>}
        </p>
      )}
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}
