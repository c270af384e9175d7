import type { AnnotationDefinition } from '../load-balancers.ts';
import { annotationDefinitions } from './load-balancers/annotations.ts';

/** For the reference, which looks for it here in every cloud. */
export const annotations: readonly AnnotationDefinition[] = annotationDefinitions;
