import { ErrorBox } from './error-box.tsx';
import { Loading } from './loading.tsx';
import { PageHead, type PageHeadProps } from './page-head.tsx';

interface NotLoadedProps extends Pick<PageHeadProps, 'title' | 'up'> {
  readonly what: string;
  readonly error: unknown;
  readonly retry: () => void;
}

/** A page whose data is not there yet, or failed. `what`: 'the report'. */
export const NotLoaded = ({ what, error, retry, ...head }: NotLoadedProps) => (
  <>
    <PageHead {...head} />
    {error === null ? <Loading what={what} /> : <ErrorBox error={error} retry={retry} />}
  </>
);
