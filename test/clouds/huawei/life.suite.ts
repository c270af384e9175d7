import { lifeSuite } from '../life/life-suite.ts';
import { openHuaweiLife } from './life-cloud.ts';

lifeSuite('a fake Huawei Cloud', [openHuaweiLife], { services: true });
