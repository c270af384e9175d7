import { lifeSuite } from '../life/life-suite.ts';
import { openCloudStackLife } from './life-cloud.ts';

lifeSuite('a fake CloudStack', [openCloudStackLife], { services: true });
